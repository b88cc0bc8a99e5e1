/// Candidate, commits, confirmation, history.
#include "config/store/store.hpp"

#include <gtest/gtest.h>

#include "tests/shell/bench.hpp"

namespace ligature::store {
namespace {

using shell::test::FakeClock;
using shell::test::shipped;
using shell::test::slurp;
using shell::test::TempDir;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reopen();
    ASSERT_TRUE(store_->create(shipped(), "system", "first"));
  }
  void reopen() {
    store_.reset();
    auto opened = Store::open(folder_ / "state", clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  /// The running texts with another title.
  Texts titled(const std::string& title) const {
    Texts t = store_->running();
    auto tree = Tree::parse(t.profile, "profile");
    EXPECT_TRUE(tree->set({{"title", std::nullopt}}, toml_string(title)));
    t.profile = tree->text({});
    return t;
  }
  std::string title() const { return store_->check().profile->title; }
  void commit(const std::string& name, int confirm_min = 0) {
    ASSERT_TRUE(store_->prepare(titled(name), "tom"));
    const auto made = store_->commit("tom", "why " + name, confirm_min);
    ASSERT_TRUE(made) << made.error().message;
  }
  TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, WhatIsCommittedIsAProfileThatRuns) {
  commit("two");
  const auto profile = config::load_profile(store_->running_profile());
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->title, "two");
  EXPECT_EQ(std::filesystem::canonical(folder_ / "state/running"), store_->running_profile().parent_path());
  EXPECT_EQ(store_->history().size(), 2u);
  EXPECT_EQ(store_->history()[0].user, "tom");
  EXPECT_EQ(store_->history()[0].comment, "why two");
}

TEST_F(StoreTest, TheCandidateSurvivesTheProcess) {
  ASSERT_TRUE(store_->prepare(titled("prepared"), "tom"));
  reopen();
  EXPECT_TRUE(store_->changed());
  EXPECT_EQ(title(), "prepared");
  EXPECT_EQ(store_->candidate().user, "tom");
  ASSERT_TRUE(store_->discard());
  reopen();
  EXPECT_FALSE(store_->changed());
}

TEST_F(StoreTest, WhatTheLoadersRefuseIsNotCommitted) {
  Texts bad = store_->running();
  auto tree = Tree::parse(bad.profile, "profile");
  ASSERT_TRUE(tree->set({{"tracking", std::nullopt}, {"prediction_ms", std::nullopt}}, "5000.0"));
  bad.profile = tree->text({});
  ASSERT_TRUE(store_->prepare(bad, "tom"));
  const auto made = store_->commit("tom", "", 0);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("key 'tracking.prediction_ms' is 5000, must be 0..2000"), std::string::npos)
      << made.error().message;
  EXPECT_TRUE(made.error().message.starts_with("profile:")) << made.error().message;
  EXPECT_EQ(store_->history().size(), 1u);
  reopen();
  EXPECT_EQ(store_->history().size(), 1u);
}

TEST_F(StoreTest, FiftyCommitsAreKeptAndCanBeHadBack) {
  for (int i = 0; i < 60; ++i) commit("title " + std::to_string(i));
  EXPECT_EQ(store_->history().size(), kKept);
  const auto oldest = store_->texts_back(49);
  ASSERT_TRUE(oldest);
  EXPECT_NE(oldest->profile.find("\"title 10\""), std::string::npos);
  EXPECT_FALSE(store_->texts_back(50));
  EXPECT_FALSE(store_->texts_back(-1));
  reopen();
  EXPECT_EQ(store_->history().size(), kKept);
  EXPECT_EQ(store_->running_commit().number, 61);
  EXPECT_EQ(title(), "title 59");
}

TEST_F(StoreTest, AnUnconfirmedCommitGoesBackInTime) {
  commit("good");
  commit("bad", 5);
  EXPECT_EQ(store_->pending_s(), 300);
  clock_.pass(299);
  EXPECT_FALSE(*store_->tick());
  EXPECT_EQ(title(), "bad");
  clock_.pass(1);
  const auto back = store_->tick();
  ASSERT_TRUE(back && *back);
  EXPECT_EQ((*back)->undoes, 3);
  EXPECT_EQ(title(), "good");
  EXPECT_FALSE(store_->pending());
  EXPECT_FALSE(store_->changed());
  EXPECT_NE(store_->running_commit().comment.find("was not confirmed within 5 min"), std::string::npos);
  reopen();
  EXPECT_EQ(title(), "good");
  EXPECT_FALSE(store_->history()[1].confirmed);
}

TEST_F(StoreTest, ItGoesBackAlsoWhereTheProcessWasKilledMeanwhile) {
  commit("good");
  commit("bad", 5);
  clock_.pass(100);
  reopen();
  EXPECT_EQ(title(), "bad");
  EXPECT_EQ(store_->pending_s(), 200);
  store_.reset();
  clock_.pass(1000);
  reopen();
  EXPECT_EQ(title(), "good");
  ASSERT_TRUE(store_->went_back());
  EXPECT_EQ(store_->went_back()->undoes, 3);
}

TEST_F(StoreTest, AfterARestartOfTheMachineTheWallClockDecidesButCannotProlong) {
  commit("good");
  commit("bad", 5);
  clock_.boot_id = "second";
  clock_.running = 5;
  clock_.wall += 60;
  reopen();
  EXPECT_EQ(store_->pending_s(), 240);
  clock_.wall -= 1'000'000;  // set back
  EXPECT_EQ(store_->pending_s(), 300);
  clock_.wall += 2'000'000;
  reopen();
  EXPECT_EQ(title(), "good");
}

TEST_F(StoreTest, AConfirmedOneStays) {
  commit("good", 5);
  ASSERT_TRUE(store_->confirm());
  clock_.pass(1000);
  EXPECT_FALSE(*store_->tick());
  reopen();
  EXPECT_EQ(title(), "good");
  EXPECT_TRUE(store_->history()[0].confirmed);
}

TEST_F(StoreTest, SeveralUnconfirmedGoBackToTheLastGood) {
  commit("good");
  commit("bad", 5);
  commit("worse", 5);
  clock_.pass(300);
  ASSERT_TRUE(*store_->tick());
  EXPECT_EQ(title(), "good");
}

TEST_F(StoreTest, ACommitForGoodConfirmsTheOneThatWaits) {
  commit("tried", 5);
  commit("kept");
  clock_.pass(1000);
  EXPECT_FALSE(*store_->tick());
  reopen();
  EXPECT_EQ(title(), "kept");
  EXPECT_TRUE(store_->history()[1].confirmed);
}

TEST_F(StoreTest, PreparedChangesOutliveARollback) {
  commit("good");
  commit("bad", 5);
  ASSERT_TRUE(store_->prepare(titled("prepared"), "tom"));
  clock_.pass(300);
  ASSERT_TRUE(*store_->tick());
  EXPECT_EQ(title(), "prepared");
  EXPECT_NE(store_->running().profile.find("\"good\""), std::string::npos);
}

TEST_F(StoreTest, OneProcessServesIt) {
  const auto second = Store::open(folder_ / "state", clock_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("serves this configuration"), std::string::npos);
}

TEST_F(StoreTest, HalfAndTamperedFilesAreNoReasonToFail) {
  commit("two");
  store_.reset();
  folder_.write("state/commits/.new/profile.toml", "half");
  folder_.write("state/commits/000003/profile.toml", "never made to run");
  folder_.write("state/candidate.json", "{\"base\": 2, \"profile\": ");
  folder_.write("state/pending.json", "[[[[");
  reopen();
  EXPECT_EQ(title(), "two");
  EXPECT_EQ(store_->mended().size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state/commits/000003"));
  commit("three");
  EXPECT_EQ(store_->running_commit().number, 3);
}

TEST_F(StoreTest, NoWholeCommitIsEverRemoved) {
  const std::filesystem::path state = folder_ / "state";
  for (const char* name : {"two", "three", "four"}) commit(name);
  store_.reset();
  std::filesystem::remove(state / "running");
  const auto opened = Store::open(state, clock_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("running: is missing, though commits/ holds 4"), std::string::npos)
      << opened.error().message;
  std::filesystem::create_directory_symlink("commits/000002", state / "running");  // as errors advise
  reopen();
  EXPECT_EQ(title(), "two");
  EXPECT_EQ(store_->mended().size(), 2u);
  for (const char* name : {"000003", "000004"})
    EXPECT_TRUE(std::filesystem::exists(state / "aside" / name / "rig.toml"));
  commit("other three");
  store_.reset();
  std::filesystem::remove(state / "running");
  std::filesystem::create_directory_symlink("commits/000002", state / "running");
  reopen();
  EXPECT_TRUE(std::filesystem::exists(state / "aside/000003-2/rig.toml"));
}

TEST_F(StoreTest, APendingFileThatCannotBeReadConfirmsNothing) {
  commit("good");
  commit("bad", 5);
  store_.reset();
  folder_.write("state/pending.json", "x");
  reopen();
  EXPECT_EQ(title(), "good");
  EXPECT_FALSE(store_->pending());
  EXPECT_FALSE(store_->history()[1].confirmed);
  EXPECT_FALSE(store_->mended().empty());
}

TEST_F(StoreTest, APendingFileThatDoesNotFitIsVoid) {
  commit("two");
  store_.reset();
  folder_.write("state/pending.json",
                R"({"commit":2,"back_to":1,"minutes":1,"user":"tom","wall_until_s":0,"running_until_s":0,"boot":""})");
  reopen();
  EXPECT_EQ(title(), "two") << "commit 2 did not have to be confirmed";
  EXPECT_FALSE(store_->pending());
}

TEST_F(StoreTest, AFolderWithoutItsRunningCommitSaysSo) {
  store_.reset();
  std::filesystem::remove_all(folder_ / "state/commits/000001");
  const auto opened = Store::open(folder_ / "state", clock_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("running: points to a commit that is not there"), std::string::npos);
}

TEST(StoreSchema, KnowsEveryKeyOfTheShippedFilesAndExplainsOnlyKnownOnes) {
  for (const char* name : {"virtual", "demo", "appliance"}) {
    TempDir folder;
    const Texts texts = shipped(name);
    folder.write(kRigFile, texts.rig);
    const Schema schema = Schema::learn(texts, folder.path());
    for (const Part part : {Part::profile, Part::rig}) {
      const auto tree = Tree::parse(part == Part::profile ? texts.profile : texts.rig, "x");
      for (const auto& line : tree->lines({}))
        EXPECT_NE(schema.find(part, dotted(line.path)), nullptr) << dotted(line.path);
    }
    for (const char* key : {"thread.priority", "fault.delay_ms", "fault.hue_deg", "physics.step_ms", "vessel.gap_mm"})
      EXPECT_NE(schema.find(Part::profile, key), nullptr) << key;
    EXPECT_EQ(schema.find(Part::profile, "tracking.prediction_ms")->must, "0..2000");
    EXPECT_EQ(schema.find(Part::profile, "tracking.prediction_ms")->fallback, "150");
  }
}

}  // namespace
}  // namespace ligature::store
