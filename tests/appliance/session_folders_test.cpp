/// Old sessions go, oldest first, and nothing else does.
#include "appliance/run/session_folders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/config/temp_dir.hpp"

namespace ligature::appliance {
namespace {

namespace fs = std::filesystem;

class SessionFolders : public ::testing::Test {
 protected:
  void make(const std::string& name, std::size_t bytes = 1000) {
    fs::create_directories(root() / name / "recording");
    std::ofstream(root() / name / "recording/C0.mkv") << std::string(bytes, 'x');
  }
  fs::path root() const { return directory_.path() / "sessions"; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(root())) out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }
  config::test::TempDir directory_;
};

using Names = std::vector<std::string>;

TEST_F(SessionFolders, OldestGoFirstUntilTheNumberFits) {
  for (const char* day : {"03", "01", "04", "02"}) make("2026-11-" + std::string(day) + "T08:00:00Z");
  const auto said = prune_sessions(root(), 2, 1 << 30);
  EXPECT_EQ(names(), (Names{"2026-11-03T08:00:00Z", "2026-11-04T08:00:00Z"}));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(
      said[0],
      "2 old sessions removed, 2026-11-01T08:00:00Z to 2026-11-02T08:00:00Z (0.0 MB), as output.keep_sessions and "
      "keep_gb ask");
  EXPECT_TRUE(prune_sessions(root(), 2, 1 << 30).empty()) << "nothing left to do, nothing said";
}

TEST_F(SessionFolders, AndUntilTheSizeFits) {
  make("2026-11-01T08:00:00Z", 3000), make("2026-11-02T08:00:00Z", 3000), make("2026-11-03T08:00:00Z", 3000);
  (void)prune_sessions(root(), 100, 6000);
  EXPECT_EQ(names(), (Names{"2026-11-02T08:00:00Z", "2026-11-03T08:00:00Z"}));
  (void)prune_sessions(root(), 100, 5999);
  EXPECT_EQ(names(), (Names{"2026-11-03T08:00:00Z"}));
  (void)prune_sessions(root(), 100, 0);
  EXPECT_EQ(names(), (Names{"2026-11-03T08:00:00Z"})) << "what was just recorded is not lost for its size";
}

TEST_F(SessionFolders, WhatCannotGoIsNotMadeUpForByOthers) {
  make("2026-11-01T08:00:00Z", 9000), make("2026-11-02T08:00:00Z", 1000), make("2026-11-03T08:00:00Z", 1000);
  const auto exported = FolderHold::share(root() / "2026-11-01T08:00:00Z");
  (void)prune_sessions(root(), 100, 5000);
  EXPECT_EQ(names().size(), 3u);
}

TEST_F(SessionFolders, WhatIsInUseStaysAndIsSaid) {
  make("2026-11-01T08:00:00Z"), make("2026-11-02T08:00:00Z"), make("2026-11-03T08:00:00Z");
  {
    const auto running = FolderHold::share(root() / "2026-11-01T08:00:00Z");
    const auto exported = FolderHold::share(root() / "2026-11-01T08:00:00Z");
    ASSERT_TRUE(running && exported);
    const auto said = prune_sessions(root(), 1, 1 << 30);
    EXPECT_EQ(names(), (Names{"2026-11-01T08:00:00Z", "2026-11-03T08:00:00Z"})) << "kept beside the one that may stay";
    ASSERT_EQ(said.size(), 2u);
    EXPECT_NE(said[0].find("2026-11-01T08:00:00Z is in use"), std::string::npos) << said[0];
  }
  (void)prune_sessions(root(), 0, 1 << 30);
  EXPECT_TRUE(names().empty());
}

TEST_F(SessionFolders, NothingButSessionsIsTouched) {
  const fs::path precious = directory_.path() / "precious";
  fs::create_directories(precious);
  std::ofstream(precious / "file") << "kept";
  fs::create_directories(root());
  fs::create_directory_symlink(precious, root() / "2026-11-01T08:00:00Z");
  std::ofstream(root() / "2026-11-02T08:00:00Z") << "a file";
  for (const char* name :
       {"holiday", "2026", "2026-11-03T08:00:00Z.bak", "2026-11-03T08:00:00Z-", "2026-11-03 08:00:00"})
    make(name);
  make("2026-11-03T08:00:00Z");
  fs::create_directory_symlink(precious, root() / "2026-11-03T08:00:00Z" / "link");
  (void)prune_sessions(root(), 0, 0);
  EXPECT_EQ(names().size(), 7u);
  EXPECT_TRUE(fs::exists(precious / "file")) << "a link is removed, not what it leads to";
  EXPECT_FALSE(fs::exists(root() / "2026-11-03T08:00:00Z"));
  EXPECT_TRUE(prune_sessions(root() / "nowhere", 1, 1).empty());
}

TEST_F(SessionFolders, TwoThatBeginInOneSecondHaveFoldersOfTheirOwn) {
  fs::create_directories(root());
  Names made;
  for (int i = 0; i < 11; ++i) {
    const fs::path folder = new_session_folder(root(), 1'795'000'000);
    EXPECT_TRUE(is_session_name(folder.filename().string())) << folder;
    fs::create_directories(folder);
    made.push_back(folder.filename().string());
  }
  EXPECT_EQ(made[1], made[0] + "-2");
  (void)prune_sessions(root(), 2, 1 << 30);
  EXPECT_EQ(names(), (Names{made[9], made[10]})) << "-11 is younger than -2";
}

}  // namespace
}  // namespace ligature::appliance
