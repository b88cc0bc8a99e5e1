#include "config/document.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

using test::TempDir;

/// The one line that reading `text` with `read` ends in; empty when all is well.
std::string line_for(std::string_view text, const std::function<void(Table&)>& read) {
  auto document = Document::parse(text, "dir/f.toml");
  if (!document) return document.error().message;
  Table root = document->root();
  read(root);
  const auto done = document->finish();
  if (done) return "";
  EXPECT_EQ(done.error().kind, Error::Kind::usage);
  return done.error().message;
}

struct Case {
  const char* text;
  std::function<void(Table&)> read;
  const char* line;
};

TEST(Document, EveryMistakeHasItsOneLine) {
  const auto number = [](Table& t) { t.get_number("x", 0.5, between(0, 1)); };
  const auto integer = [](Table& t) { t.get_integer("n", 4, 1, 16); };
  const auto vec = [](Table& t) { t.get_vec3("v", {}); };
  const auto quat = [](Table& t) { t.get_quat("q", {}); };
  const auto choice = [](Table& t) { t.get_choice("c", 0, {{"fifo", 0}, {"other", 1}}); };
  const auto points = [](Table& t) { t.get_points("p", 2, 10); };
  const std::vector<Case> cases{
      {"x = 7", number, "dir/f.toml:1: key 'x' is 7, must be 0..1: give such a value, or leave the line out for 0.5"},
      {"\n\nx = -0.1", number,
       "dir/f.toml:3: key 'x' is -0.1, must be 0..1: give such a value, or leave the line out for 0.5"},
      {"x = nan", number,
       "dir/f.toml:1: key 'x' is nan, must be 0..1: give such a value, or leave the line out for 0.5"},
      {"x = inf", [](Table& t) { t.get_number("x", 1, any_number); },
       "dir/f.toml:1: key 'x' is inf, must be a finite number: give such a value, or leave the line out for 1"},
      {"x = -inf", [](Table& t) { t.need_number("x", not_negative, "measure it"); },
       "dir/f.toml:1: key 'x' is -inf, must be at least 0: measure it"},
      {"x = 0", [](Table& t) { t.need_number("x", positive, "measure it"); },
       "dir/f.toml:1: key 'x' is 0, must be above 0: measure it"},
      {"x = 360", [](Table& t) { t.need_number("x", {.low = 0, .high = 360, .high_open = true}, "turn it"); },
       "dir/f.toml:1: key 'x' is 360, must be at least 0 and below 360: turn it"},
      {"x = \"1\"", number,
       "dir/f.toml:1: key 'x' is '1', must be a number, 0..1: give such a value, or leave the line out for 0.5"},
      {"x = true", number,
       "dir/f.toml:1: key 'x' is true, must be a number, 0..1: give such a value, or leave the line out for 0.5"},
      {"x = [1]", number,
       "dir/f.toml:1: key 'x' is an array of 1, must be a number, 0..1: give such a value, or leave the line out for "
       "0.5"},
      {"x = 2026-11-20", number,
       "dir/f.toml:1: key 'x' is a date or time, must be a number, 0..1: give such a value, or leave the line out for "
       "0.5"},
      {"y = 1", [](Table& t) { t.need_number("x", positive, "measure it"); },
       "dir/f.toml:1: key 'x' is missing, must be above 0: measure it"},
      {"n = 2.5", integer,
       "dir/f.toml:1: key 'n' is 2.5, must be a whole number 1..16: give such a value, or leave the line out for 4"},
      {"n = 16.0", integer, "dir/f.toml:1: key 'n' is 16.0, must be a whole number 1..16: write it as 16"},
      {"n = 17", integer,
       "dir/f.toml:1: key 'n' is 17, must be a whole number 1..16: give such a value, or leave the line out for 4"},
      {"n = -9223372036854775808", integer,
       "dir/f.toml:1: key 'n' is -9223372036854775808, must be a whole number 1..16: give such a value, or leave the "
       "line out for 4"},
      {"b = 1", [](Table& t) { t.get_bool("b", false); },
       "dir/f.toml:1: key 'b' is 1, must be true or false: give such a value, or leave the line out for false"},
      {"s = 5", [](Table& t) { t.get_string("s", ""); },
       "dir/f.toml:1: key 's' is 5, must be a string: put it in quotes"},
      {"s = \"a\\nb\"", [](Table& t) { t.get_string("s", ""); },
       "dir/f.toml:1: key 's' is 'a b', must be one printable line of at most 200 bytes: shorten the text"},
      {"s = ''", [](Table& t) { t.need_string("s"); }, "dir/f.toml:1: key 's' is empty, must be a string: fill it in"},
      {"c = 'fif'", choice, "dir/f.toml:1: key 'c' is 'fif', must be fifo | other: did you mean 'fifo'?"},
      {"c = 'zzzzzz'", choice, "dir/f.toml:1: key 'c' is 'zzzzzz', must be fifo | other: choose one of them"},
      {"v = [1, 2]", vec,
       "dir/f.toml:1: key 'v' is an array of 2, must be an array of 3 numbers: give a value that fits"},
      {"v = 3", vec, "dir/f.toml:1: key 'v' is 3, must be an array of 3 numbers: give a value that fits"},
      {"v = [1,\n 2,\n nan]", vec, "dir/f.toml:3: key 'v[2]' is nan, must be a finite number: give a value that fits"},
      {"q = [0, 0, 0, 2]", quat,
       "dir/f.toml:1: key 'q[3]' is 2, must be -1.001..1.001: give x, y, z, w of a rotation; [0, 0, 0, 1] turns "
       "nothing"},
      {"q = [0, 0, 0, 0]", quat,
       "dir/f.toml:1: key 'q' is of norm 0, must be a quaternion of norm 1 within 0.001: give x, y, z, w of a "
       "rotation; [0, 0, 0, 1] turns nothing"},
      {"d = [0, 0, 0]",
       [](Table& t) {
         t.get_direction("d", {0, 0, 1});
       },
       "dir/f.toml:1: key 'd' is of zero length, must be a direction: give a vector such as [0, 0, 1]"},
      {"p = [[0, 0, 0]]", points,
       "dir/f.toml:1: key 'p' is an array of 1, must be an array of 2..10 points [x, y, z]: give points like [[0, 0, "
       "0], [10, 0, 0]]"},
      {"p = [[0, 0, 0],\n [1, 0]]", points,
       "dir/f.toml:2: key 'p[1]' is an array of 2, must be [x, y, z] within 1e6: give three numbers in mm"},
      {"p = [[0, 0, 0], [1, 0, nan]]", points,
       "dir/f.toml:1: key 'p[1]' is not three finite numbers, must be [x, y, z] within 1e6: give three numbers in mm"},
      {"f = 'none.csv'", [](Table& t) { t.get_path("f", Table::PathKind::file); },
       "dir/f.toml:1: key 'f' is 'none.csv', must be an existing file: looked at dir/none.csv; paths are relative to "
       "this file"},
      {"t = 1", [](Table& t) { t.get_table("t"); },
       "dir/f.toml:1: key 't' is 1, must be a table: write [t] above its keys"},
      {"a = 1",
       [](Table& t) {
         t.need_table("t", "add it");
         t.get_number("a", 0, any_number);
       },
       "dir/f.toml:1: key 't' is missing, must be a table [t]: add it"},
      {"[[k]]\n[[k]]\n[[k]]", [](Table& t) { t.get_tables("k", 1, 2, "two will do"); },
       "dir/f.toml:3: key 'k' is given 3 times, must be 1..2 tables [[k]]: two will do"},
      {"k = 1", [](Table& t) { t.get_tables("k", 1, 2, "two will do"); },
       "dir/f.toml:1: key 'k' is 1, must be 1..2 tables [[k]]: two will do"},
      {"[t]\ndiametre_mm = 1",
       [](Table& t) {
         Table u = t.get_table("t");
         u.get_number("length_mm", 0, any_number);
         u.get_number("diameter_mm", 0, any_number);
       },
       "dir/f.toml:2: key 't.diametre_mm' is unknown, must be a key of [t]: did you mean 'diameter_mm'?"},
      {"diameter = 1",
       [](Table& t) {
         t.get_number("length_mm", 0, any_number);
         t.get_number("diameter_mm", 0, any_number);
       },
       "dir/f.toml:1: key 'diameter' is unknown, must be a key of this file: did you mean 'diameter_mm'?"},
      {"qqqqqqqq = 1", [](Table& t) { t.get_number("x", 0, any_number), t.get_number("y", 0, any_number); },
       "dir/f.toml:1: key 'qqqqqqqq' is unknown, must be a key of this file: keys are x, y"},
      {"[nobody]\nasked = 1", number, "dir/f.toml:1: key 'nobody' is unknown, must be a key of this file: keys are x"},
      {"cut = 1", [](Table& t) { t.refuse_unsupported("cut", "cuts are"); },
       "dir/f.toml:1: key 'cut' is given, must be left out: cuts are not supported by this version yet"},
  };
  for (const Case& c : cases) EXPECT_EQ(line_for(c.text, c.read), c.line) << c.text;
}

TEST(Document, TheFirstWrongLineSpeaksAndTheOthersAreKept) {
  auto document = Document::parse("a = 9\nb = 9\nunknown = 1\nc = 0.5", "f.toml");
  ASSERT_TRUE(document);
  Table root = document->root();
  for (const char* key : {"c", "b", "a"}) root.get_number(key, 0, between(0, 1));
  const auto done = document->finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message.substr(0, 10), "f.toml:1: ");
  ASSERT_EQ(document->issues().size(), 3u);
  EXPECT_EQ(document->issues()[2].substr(0, 10), "f.toml:3: ");
}

TEST(Document, GoodValuesComeThrough) {
  auto document = Document::parse(
      "x = 1\nn = 0x10\ns = 'a'\nv = [1, 2.5, -3]\nq = [0, 0, 0.70710678, 0.70710678]\nd = [0, 3, 4]\n"
      "p = [[0,0,0],[1,2,3]]\nb = true\n[t]\ny = 1e-3\n[[k]]\nz = 1\n[[k]]\nz = 2\n",
      "f.toml");
  ASSERT_TRUE(document);
  Table t = document->root();
  EXPECT_EQ(t.get_number("x", 0, any_number), 1.0);
  EXPECT_EQ(t.get_number("absent", 2.5, positive), 2.5);
  EXPECT_EQ(t.get_integer("n", 0, 0, 99), 16);
  EXPECT_EQ(t.get_string("s", ""), "a");
  EXPECT_EQ(t.get_vec3("v", {}), (Vec3{1, 2.5, -3}));
  const Quat q = t.get_quat("q", {});
  EXPECT_NEAR(q.z * q.z + q.w * q.w, 1.0, 1e-15);
  EXPECT_NEAR(norm(t.get_direction("d", {}) - Vec3{0, 0.6, 0.8}), 0, 1e-15);
  EXPECT_EQ(t.get_points("p", 2, 9).at(1), (Vec3{1, 2, 3}));
  EXPECT_TRUE(t.get_bool("b", false));
  EXPECT_EQ(t.get_table("t").get_number("y", 0, positive), 1e-3);
  auto tables = t.get_tables("k", 0, 9);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].get_integer("z", 0, 0, 9), 1);
  EXPECT_EQ(tables[1].get_integer("z", 0, 0, 9), 2);
  EXPECT_FALSE(t.get_table("no_table").present());
  EXPECT_EQ(t.get_table("no_table").need_number("inside", positive), 0.0) << "a missing table is silent";
  const auto done = document->finish();
  EXPECT_TRUE(done) << done.error().message;
}

TEST(Document, WhatIsNotTomlIsOneLineWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a = 1\na = 2\n", "f.toml:2: "},
      {"[t]\n[t]\n", "f.toml:2: "},
      {"a = \n", "f.toml:1: "},
      {"a = 1\nb = 'x\ny'\n", "f.toml:2: "},
      {"a = 1e999999\n", "f.toml:1: "},
      {"a = 99999999999999999999\n", "f.toml:1: "},
      {"", "f.toml:1: "},
      {"  \n\t\r\n", "f.toml:1: "},
      {"a = 1\n\xff\xfe = 2", "f.toml:2: "},
      {std::string("a = 1\nb = \0", 11), "f.toml:2: "},
      {"a = " + std::string(5000, '['), "f.toml:1: "},
  };
  for (const auto& [text, place] : cases) {
    const auto line = line_for(text, [](Table& t) { t.get_number("a", 0, any_number); });
    EXPECT_EQ(line.substr(0, 4 + place.size()), "dir/" + place) << text.substr(0, 40);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_LT(line.size(), 1100u);
  }
}

TEST(Document, AFileThatCannotBeReadIsOneLine) {
  const TempDir dir;
  const auto message = [](const std::filesystem::path& p) {
    auto document = Document::read(p);
    EXPECT_FALSE(document);
    return document ? "" : document.error().message;
  };
  EXPECT_EQ(message(dir / "no.toml"), (dir / "no.toml").string() +
                                          ":1: the file does not exist, must be a file that can be read: check the "
                                          "path");
  EXPECT_NE(message(dir.path()).find(":1: the file is a directory, must be"), std::string::npos);
  EXPECT_NE(message(dir.write("empty.toml", "")).find("the file is empty"), std::string::npos);
  EXPECT_NE(message(dir.write("big.toml", std::string(kMaxTomlBytes + 1, '#'))).find("is larger than"),
            std::string::npos);
  EXPECT_NE(message("/dev/zero").find("is larger than"), std::string::npos) << "reading is bounded";
  ASSERT_EQ(::mkfifo((dir / "pipe.toml").c_str(), 0600), 0);
  EXPECT_NE(message(dir / "pipe.toml").find("the file is a pipe"), std::string::npos) << "nobody writes to it";
  EXPECT_NE(message(dir / "a.toml/b.toml").find("does not exist"), std::string::npos);
}

TEST(Document, AByteOrderMarkAndWindowsLinesAreFine) {
  EXPECT_EQ(line_for("\xef\xbb\xbf# x\r\nx = 1\r\n", [](Table& t) { t.get_number("x", 0, any_number); }), "");
}

}  // namespace
}  // namespace ligature::config
