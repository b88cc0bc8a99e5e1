/// A settings file changed value by value.
#include "config/store/tree.hpp"

#include <gtest/gtest.h>

#include "tests/shell/bench.hpp"

namespace ligature::store {
namespace {

using shell::test::shipped;

Path path(std::initializer_list<Step> steps) {
  return steps;
}

Tree tree(const std::string& text) {
  auto parsed = Tree::parse(text, "text");
  EXPECT_TRUE(parsed);
  return std::move(*parsed);
}

TEST(StoreTree, AShippedConfigurationComesOutMeaningTheSame) {
  for (const char* profile : {"virtual", "demo", "appliance"}) {
    const Texts texts = shipped(profile);
    for (const std::string& text : {texts.profile, texts.rig}) {
      const Tree once = tree(text), twice = tree(once.text({}));
      const auto a = once.lines({}), b = twice.lines({});
      ASSERT_EQ(a.size(), b.size());
      EXPECT_EQ(difference(a, b, "x"), "");
      EXPECT_EQ(once.text({}), twice.text({}));
    }
  }
}

TEST(StoreTree, ValuesAreSetWhereTheyWereAndTablesAreMadeOnTheWay) {
  Tree t = tree("a = 1\n[b]\nc = 2.0\n[[d]]\nname = \"x\"\ne = true\n");
  EXPECT_TRUE(t.set(path({{"a", {}}}), "5"));
  EXPECT_TRUE(t.set(path({{"b", {}}, {"f", {}}, {"g", {}}}), "\"text\""));
  EXPECT_TRUE(t.set(path({{"d", "y"}, {"e", {}}}), "false"));
  EXPECT_TRUE(t.set(path({{"n", "0"}, {"v", {}}}), "[1, 2]"));
  const Tree again = tree(t.text({}));
  EXPECT_EQ(again.value(path({{"a", {}}})), "5");
  EXPECT_EQ(again.value(path({{"b", {}}, {"c", {}}})), "2.0");
  EXPECT_EQ(again.value(path({{"b", {}}, {"f", {}}, {"g", {}}})), "\"text\"");
  EXPECT_EQ(again.value(path({{"d", "x"}, {"e", {}}})), "true");
  EXPECT_EQ(again.value(path({{"d", "y"}, {"e", {}}})), "false");
  EXPECT_EQ(again.value(path({{"n", "0"}, {"v", {}}})), "[1, 2]");
  EXPECT_EQ(again.items(path({{"d", {}}})), (std::vector<std::string>{"x", "y"}));
}

TEST(StoreTree, WhatIsNoValueOrNoPlaceChangesNothing) {
  Tree t = tree("a = 1\n[b]\nc = 2.0\n[[d]]\nname = \"x\"\n");
  const std::string before = t.text({});
  for (const char* value : {"", "x y", "1\nz = 2", "[1, 2", "\"open", "1 = 2", "0x", "{", "1 # no\n[b]", "\x01"})
    EXPECT_FALSE(t.set(path({{"a", {}}}), value)) << value;
  EXPECT_FALSE(t.set(path({{"b", {}}}), "1"));
  EXPECT_FALSE(t.set(path({{"d", {}}}), "1"));
  EXPECT_FALSE(t.set(path({{"a", {}}, {"below", {}}}), "1"));
  EXPECT_FALSE(t.set(path({{"n", "3"}, {"v", {}}}), "1"));
  EXPECT_FALSE(t.erase(path({{"nothing", {}}})));
  EXPECT_EQ(t.value(path({{"a", {}}})), "1");
  EXPECT_EQ(t.value(path({{"b", {}}, {"c", {}}})), "2.0");
  EXPECT_EQ(tree(before).value(path({{"a", {}}})), "1");
}

TEST(StoreTree, WhatIsErasedTakesEmptyTablesAlong) {
  Tree t = tree("a = 1\n[b.c]\nd = 2\n[[e]]\nname = \"x\"\nf = 1\n[[e]]\nname = \"y\"\n");
  EXPECT_TRUE(t.erase(path({{"b", {}}, {"c", {}}, {"d", {}}})));
  EXPECT_FALSE(t.has(path({{"b", {}}})));
  EXPECT_TRUE(t.erase(path({{"e", "x"}})));
  EXPECT_EQ(t.items(path({{"e", {}}})), (std::vector<std::string>{"y"}));
  EXPECT_TRUE(t.erase(path({{"e", "y"}})));
  EXPECT_FALSE(t.has(path({{"e", {}}})));
}

TEST(StoreTree, NumbersAndTextsKeepTheirBits) {
  Tree t = tree("a = 0.1\n");
  for (const char* number : {"0.1", "1e-300", "-0.0", "1.7976931348623157e+308", "5e-324", "123456789.0"}) {
    ASSERT_TRUE(t.set(path({{"a", {}}}), number));
    const std::string text = t.text({});
    EXPECT_EQ(tree(text).text({}), text);
    EXPECT_EQ(std::strtod(tree(text).value(path({{"a", {}}}))->c_str(), nullptr), std::strtod(number, nullptr));
  }
  for (const std::string text :
       {"plain", "with \"quotes\" and \\", "tab\there", "\x7f\x01", "\xc3\xa4\xe2\x82\xac", "#"}) {
    ASSERT_TRUE(t.set(path({{"a", {}}}), toml_string(text)));
    EXPECT_EQ(tree(t.text({})).value(path({{"a", {}}})), toml_string(text));
  }
}

TEST(StoreTree, DifferencesNameThePlaceTheOldAndTheNew) {
  const Tree a = tree("x = 1\n[t]\ny = 2\n"), b = tree("x = 1\n[t]\ny = 3\nz = 4\n");
  EXPECT_EQ(difference(a.lines({}), b.lines({}), "profile"), "[profile t]\n-  y = 2\n+  y = 3\n+  z = 4\n");
  EXPECT_EQ(difference(b.lines({}), a.lines({}), "profile"), "[profile t]\n-  z = 4\n-  y = 3\n+  y = 2\n");
  EXPECT_EQ(difference(a.lines({}), a.lines({}), "profile"), "");
  EXPECT_EQ(changed_keys(a.lines({}), b.lines({})), (std::vector<std::string>{"t.y", "t.z"}));
}

}  // namespace
}  // namespace ligature::store
