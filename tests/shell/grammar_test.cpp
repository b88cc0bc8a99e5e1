/// Parsing, abbreviation, completion and help, from one table.
#include "config/shell/grammar.hpp"

#include <gtest/gtest.h>

#include "tests/shell/bench.hpp"

namespace ligature::shell {
namespace {

using test::Bench;

class Grammar : public ::testing::Test {
 protected:
  Reading read(const std::string& line, const char* user = "ada") {
    session_ = bench_.login(user);
    return read_line(line, *session_);
  }
  std::vector<std::string> words(const std::string& line, const char* user = "ada") {
    session_ = bench_.login(user);
    std::vector<std::string> out;
    for (const Choice& c : suggest(line, *session_).choices) out.push_back(c.word);
    return out;
  }
  Bench bench_;
  std::unique_ptr<Session> session_;
};

TEST_F(Grammar, WordsMayBeAbbreviatedAsLongAsTheyAreUnambiguous) {
  for (const char* line : {"show cameras", "sh cam", "show c"}) {
    const Reading r = read(line);
    if (std::string(line) == "show c") {
      EXPECT_FALSE(r.parsed);
      EXPECT_NE(r.mistake.message.find("ambiguous: cameras | configuration | candidate"), std::string::npos)
          << r.mistake.message;
      EXPECT_EQ(r.mistake.column, 5u);
    } else {
      ASSERT_TRUE(r.parsed) << line << ": " << r.mistake.message;
      EXPECT_EQ(r.parsed->rule->action, Action::show_cameras);
    }
  }
}

TEST_F(Grammar, ThePathMayBeAbbreviatedToo) {
  const Reading r = read("set pro track pred 200");
  ASSERT_TRUE(r.parsed) << r.mistake.message;
  EXPECT_EQ(store::dotted(r.parsed->walk.path), "tracking.prediction_ms");
  EXPECT_EQ(r.parsed->value, (std::vector<std::string>{"200"}));
  const Reading item = read("set rig cam C2 fx 601.5");
  ASSERT_TRUE(item.parsed) << item.mistake.message;
  EXPECT_EQ(store::spoken(item.parsed->walk.path), "camera C2 fx_px");
}

TEST_F(Grammar, AMistakeIsPointedAt) {
  const Reading r = read("show cameraz");
  EXPECT_EQ(with_caret("show cameraz", r.mistake).substr(0, 20), "show cameraz\n     ^\n");
  EXPECT_EQ(read("rollback 50").mistake.column, 9u);
  EXPECT_NE(read("rollback 50").mistake.message.find("must be 0..49"), std::string::npos);
  EXPECT_NE(read("set profile tracking nothing 1").mistake.message.find("unknown here"), std::string::npos);
  EXPECT_EQ(read("set profile tracking nothing 1").mistake.column, 21u);
  EXPECT_NE(read("set profile tracking prediction_ms").mistake.message.find("a value is missing"), std::string::npos);
  EXPECT_NE(read("commit comment \"open").mistake.message.find("not closed"), std::string::npos);
  EXPECT_NE(read("show").mistake.message.find("not complete"), std::string::npos);
  EXPECT_NE(read("show version now").mistake.message.find("nothing may follow"), std::string::npos);
  EXPECT_NE(read("show \x01").mistake.message.find("control character"), std::string::npos);
  EXPECT_NE(read("show \xff").mistake.message.find("not UTF-8"), std::string::npos);
  EXPECT_TRUE(read("  ").empty);
  EXPECT_TRUE(read("# a comment").empty);
}

TEST_F(Grammar, CommentsGoToTheEndOfTheLine) {
  const Reading plain = read("commit confirmed 5 comment zoom in, said  the educator");
  ASSERT_TRUE(plain.parsed) << plain.mistake.message;
  EXPECT_EQ(plain.parsed->find("comment")->text, "zoom in, said  the educator");
  EXPECT_EQ(plain.parsed->find("minutes")->number, 5);
  EXPECT_EQ(read("commit comment \"quoted words\"").parsed->find("comment")->text, "quoted words");
}

TEST_F(Grammar, ARoleSeesAndMayDoItsOwnCommandsOnly) {
  EXPECT_EQ(words("", "vera"), (std::vector<std::string>{"show", "compare", "job", "help", "exit", "quit"}));
  const Reading r = read("commit", "vera");
  EXPECT_FALSE(r.parsed);
  EXPECT_TRUE(r.mistake.role);
  EXPECT_EQ(r.mistake.message, "needs the role service, yours is viewer");
  EXPECT_TRUE(read("disconnect 1", "tom").mistake.role);
  for (const Rule& rule : rules()) EXPECT_FALSE(rule.help.empty()) << rule.pattern;
}

TEST_F(Grammar, CompletionFollowsTheTableAndTheConfiguration) {
  EXPECT_EQ(words("show wat"), (std::vector<std::string>{"watchdog"}));
  EXPECT_EQ(words("set "), (std::vector<std::string>{"profile", "rig"}));
  EXPECT_EQ(words("set rig camera "), (std::vector<std::string>{"C0", "C1", "C2", "C3"}));
  EXPECT_EQ(words("set rig instrument left marker "), (std::vector<std::string>{"tail", "plus", "minus"}));
  EXPECT_EQ(words("set profile tracking p"), (std::vector<std::string>{"prediction_ms"}));
  EXPECT_EQ(words("set profile render device "), (std::vector<std::string>{"auto", "cpu", "gpu", "<value>"}));
  EXPECT_EQ(words("commit "), (std::vector<std::string>{"check", "comment", "confirmed"}));
  EXPECT_TRUE(suggest("commit ", *session_).complete);
  const auto help = suggest("set profile tracking prediction_ms ", *session_);
  ASSERT_EQ(help.choices.size(), 1u);
  for (const char* part : {"0..2000", "default 150", "now 150.0", "takes effect at once"})
    EXPECT_NE(help.choices[0].help.find(part), std::string::npos) << help.choices[0].help;
}

TEST_F(Grammar, EveryPatternParsesAsItself) {
  for (const Rule& rule : rules()) {
    std::string line(rule.pattern);
    const auto fill = [&line](const std::string& what, const std::string& by) {
      if (const auto at = line.find(what); at != std::string::npos) line.replace(at, what.size(), by);
    };
    fill("<path>", rule.action == Action::show_configuration || rule.action == Action::show_candidate
                       ? "rig"
                       : "rig world motion_scale");
    fill("<value>", "1");
    fill("<back>", "0");
    fill("<lines>", "5");
    fill("<minutes>", "5");
    fill("<comment>", "why not");
    fill("<job>", "1");
    fill("<recording>", "monday");
    fill("<profile>", "demo");
    fill("<camera>", "C1");
    fill("<board>", "checkerboard:9x6:25mm");
    fill("<images>", "/tmp");
    fill("<folder>", "/tmp");
    fill("<instrument>", "left");
    fill("<opening>", "/tmp");
    fill("<length>", "120");
    fill("<frame>", "0");
    fill("<control>", "pause");
    fill("<command>", "show");
    session_ = bench_.login("ada");
    fill("<session>", std::to_string(session_->number()));
    const Reading r = read_line(line, *session_);
    ASSERT_TRUE(r.parsed) << line << ": " << r.mistake.message;
    EXPECT_EQ(r.parsed->rule, &rule) << line;
  }
}

}  // namespace
}  // namespace ligature::shell
