/// Who may include whom (DESIGN: rooms). Reads the sources as text, so that it needs none of them to build.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Include {
  int line;
  std::string name;
};

bool starts_with_any(std::string_view s, const Words& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return s.starts_with(p); });
}

/// Every #include and __has_include outside comments.
std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> out;
  bool in_comment = false;
  int number = 0;
  std::istringstream lines{std::string(text)};
  for (std::string raw; std::getline(lines, raw);) {
    ++number;
    std::string line;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (in_comment) {
        if (raw.compare(i, 2, "*/") == 0) in_comment = false, ++i;
      } else if (raw.compare(i, 2, "/*") == 0) {
        in_comment = true, ++i;
      } else if (raw.compare(i, 2, "//") == 0 && line.find('"') == std::string::npos) {
        break;
      } else {
        line += raw[i];
      }
    }
    std::size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || line[at] != '#') continue;
    at = line.find("include", at);
    if (at == std::string::npos) continue;
    at = line.find_first_of("<\"", at);
    if (at == std::string::npos) continue;
    const auto end = line.find_first_of(">\"", at + 1);
    if (end == std::string::npos) continue;
    out.push_back({number, line.substr(at + 1, end - at - 1)});
  }
  return out;
}

struct Room {
  std::string folder;  // ends in /
  Words ours;          // prefixes of our own headers that it may use
  Words third_party;   // prefixes of others' headers, by kLibraries' names
};

/// The most particular folder first: the first that matches decides.
const std::vector<Room>& rooms() {
  static const std::vector<Room> all{
      {"sim/base/", {"sim/base/"}, {"eigen"}},
      {"sim/contract/", {"sim/contract/", "sim/base/"}, {}},
      {"sim/exercise/", {"sim/exercise/", "sim/contract/", "sim/base/"}, {}},
      {"sim/", {"sim/"}, {"eigen"}},
      {"drivers/", {"drivers/", "sim/base/", "sim/contract/"}, {"opencv", "eigen", "ceres", "turbojpeg", "posix"}},
      {"render/", {"render/", "sim/base/", "sim/contract/"}, {"opencv", "eigen", "vulkan", "sdl", "posix"}},
      {"config/",
       {"config/", "drivers/", "render/", "sim/world/params.hpp", "sim/world/obstacles.hpp", "sim/exercise/goal.hpp",
        "sim/base/", "sim/contract/"},
       {"toml", "boost", "libedit", "assimp", "json", "posix"}},
      // Names the version of every library, and calls none of them.
      {"appliance/version.cpp",
       {"appliance/", "config/", "drivers/", "render/", "sim/world/", "sim/knot/", "sim/base/", "sim/contract/"},
       {"opencv", "eigen", "cli", "fmt", "spdlog", "json", "systemd", "sqlite", "posix", "threads", "sdl", "vulkan",
        "toml"}},
      // ligature-knot alone holds the garbage collector.
      {"appliance/knot/",
       {"appliance/knot/", "appliance/xml_text.hpp", "config/atomic_file.hpp", "config/csv_file.hpp", "sim/knot/",
        "sim/base/"},
       {"homfly", "cli", "fmt", "json", "posix"}},
      {"appliance/",
       {"appliance/", "config/", "drivers/", "render/", "sim/world/", "sim/knot/", "sim/exercise/", "sim/base/",
        "sim/contract/"},
       {"opencv", "eigen", "cli", "fmt", "spdlog", "json", "systemd", "sqlite", "posix", "threads", "sdl"}},
  };
  return all;
}

struct Library {
  std::string name;
  Words prefixes;
};

/// Everything that is neither ours nor plain C++: who may use it is said in rooms().
const std::vector<Library>& libraries() {
  static const std::vector<Library> all{
      {"opencv", {"opencv"}},
      {"eigen", {"Eigen/", "unsupported/Eigen"}},
      {"ceres", {"ceres/"}},
      {"turbojpeg", {"turbojpeg.h"}},
      {"vulkan", {"vulkan/", "volk", "glslang", "spirv", "shaderc"}},
      {"sdl", {"SDL"}},
      {"toml", {"toml"}},
      {"boost", {"boost/"}},
      {"libedit", {"histedit", "editline"}},
      {"assimp", {"assimp/"}},
      {"cli", {"CLI/"}},
      {"fmt", {"fmt/"}},
      {"spdlog", {"spdlog/"}},
      {"json", {"nlohmann/"}},
      {"systemd", {"systemd/"}},
      {"sqlite", {"sqlite"}},
      {"homfly", {"homfly", "gc.h", "gc/"}},
      {"tests", {"gtest/", "gmock/", "rapidcheck", "benchmark/", "relacy"}},
      {"posix",
       {"unistd.h", "fcntl.h", "sys/", "dirent.h", "pthread.h", "sched.h", "dlfcn.h", "linux/", "signal.h", "poll.h",
        "time.h", "malloc.h", "alloca.h"}},
  };
  return all;
}

/// What a deterministic physics without clock, files, logging and threads has no use for.
const Words& forbidden_in_sim() {
  static const Words all{
      "iostream",           "fstream",   "filesystem", "chrono",  "thread",    "mutex", "shared_mutex",
      "condition_variable", "future",    "ctime",      "time.h",  "random",    "print", "syncstream",
      "execution",          "semaphore", "latch",      "barrier", "stop_token"};
  return all;
}

/// Why this file may not have this include; empty when it may.
std::string objection(const std::string& file, const std::string& include) {
  const auto room = std::find_if(rooms().begin(), rooms().end(),
                                 [&](const Room& r) { return std::string_view(file).starts_with(r.folder); });
  if (room == rooms().end()) return "";
  if (include.find("..") != std::string::npos) return "write the path from the root of the tree";
  if (starts_with_any(include, {"appliance/", "config/", "drivers/", "render/", "sim/", "tests/", "deploy/"}))
    return starts_with_any(include, room->ours) ? "" : room->folder + " may not know " + include;
  for (const Library& library : libraries()) {
    if (!starts_with_any(include, library.prefixes)) continue;
    const auto& allowed = room->third_party;
    return std::find(allowed.begin(), allowed.end(), library.name) != allowed.end()
               ? ""
               : room->folder + " may not use " + library.name;
  }
  const bool in_sim = std::string_view(file).starts_with("sim/");
  if (in_sim && std::find(forbidden_in_sim().begin(), forbidden_in_sim().end(), include) != forbidden_in_sim().end())
    return "sim has no clock, files, logging or threads";
  return "";
}

bool is_source(const fs::path& p) {
  const std::string e = p.extension().string();
  return e == ".hpp" || e == ".cpp" || e == ".h" || e == ".c" || e == ".cc" || e == ".hh" || e == ".inl" || e == ".ipp";
}

std::string slurp(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Each forbidden include below `root` as "file:line: why".
std::vector<std::string> objections_below(const fs::path& root, std::size_t* sources = nullptr) {
  std::vector<std::string> out;
  for (const char* room : {"sim", "drivers", "render", "config", "appliance"}) {
    if (!fs::exists(root / room)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      if (sources) ++*sources;
      const std::string file = fs::relative(entry.path(), root).generic_string();
      for (const Include& include : includes_of(slurp(entry.path())))
        if (const std::string why = objection(file, include.name); !why.empty())
          out.push_back(file + ":" + std::to_string(include.line) + ": " + why);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

const fs::path kRoot = LIGATURE_SOURCE_DIR;

TEST(Layering, NoRoomIncludesWhatItMayNotKnow) {
  std::size_t sources = 0;
  std::string all;
  for (const auto& line : objections_below(kRoot, &sources)) all += line + "\n";
  EXPECT_EQ(all, "");
  EXPECT_GT(sources, 10u) << "the tree was not found under " << kRoot;
}

TEST(Layering, APlantedForbiddenIncludeIsFound) {
  struct Plant {
    const char* file;
    const char* text;
  };
  const std::vector<Plant> bad{
      {"sim/base/a.hpp", "#include \"sim/contract/step_report.hpp\"\n"},
      {"sim/contract/a.hpp", "#include \"sim/world/params.hpp\"\n"},
      {"sim/contract/a.hpp", "#include <Eigen/Core>\n"},
      {"sim/rod/a.cpp", "#include \"drivers/rig.hpp\"\n"},
      {"sim/rod/a.cpp", "  #  include <chrono>\n"},
      {"sim/rod/a.cpp", "#include <iostream>\n"},
      {"sim/rod/a.cpp", "#include <mutex>\n"},
      {"sim/rod/a.cpp", "#include <spdlog/spdlog.h>\n"},
      {"sim/rod/a.cpp", "#include <opencv2/core.hpp>\n"},
      {"sim/rod/a.cpp", "#include \"../../drivers/rig.hpp\"\n"},
      {"sim/world/a.cpp", "#include <unistd.h>\n"},
      {"drivers/a.cpp", "#include \"sim/world/world.hpp\"\n"},
      {"drivers/a.cpp", "#include \"render/params.hpp\"\n"},
      {"drivers/a.cpp", "#include <toml++/toml.h>\n"},
      {"drivers/a.cpp", "#include <vulkan/vulkan.h>\n"},
      {"render/a.cpp", "#include \"drivers/rig.hpp\"\n"},
      {"render/a.cpp", "#include \"sim/world/params.hpp\"\n"},
      {"render/a.cpp", "#include <toml++/toml.h>\n"},
      {"config/a.cpp", "#include \"sim/world/world.hpp\"\n"},
      {"config/a.cpp", "#include \"sim/rod/energy.hpp\"\n"},
      {"config/a.cpp", "#include \"appliance/main.hpp\"\n"},
      {"config/a.cpp", "#include <opencv2/core.hpp>\n"},
      {"config/a.cpp", "#include <volk.h>\n"},
      {"appliance/a.cpp", "#include <volk.h>\n"},
      {"appliance/a.cpp", "#include <toml++/toml.h>\n"},
      {"appliance/a.cpp", "#include \"sim/rod/energy.hpp\"\n"},
      {"appliance/a.cpp", "#include <homfly.h>\n"},
      {"appliance/knot/a.cpp", "#include \"sim/world/world.hpp\"\n"},
      {"sim/knot/a.cpp", "#include <homfly.h>\n"},
      {"appliance/a.cpp", "#include \"tests/helper.hpp\"\n"},
      {"appliance/a.cpp", "/* why */ #include <gtest/gtest.h>\n"},
  };
  const fs::path root = fs::path(testing::TempDir()) /
                        ("layering_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_planted");
  for (const Plant& plant : bad) {
    fs::remove_all(root);
    fs::create_directories((root / plant.file).parent_path());
    std::ofstream(root / plant.file) << "#pragma once\n" << plant.text;
    const auto found = objections_below(root);
    ASSERT_EQ(found.size(), 1u) << plant.file << " " << plant.text;
    EXPECT_NE(found[0].find(std::string(plant.file) + ":2: "), std::string::npos) << found[0];
  }
  fs::remove_all(root);
}

TEST(Layering, AllowedIncludesAndCommentsPass) {
  EXPECT_EQ(objection("sim/rod/a.cpp", "Eigen/Core"), "");
  EXPECT_EQ(objection("sim/world/world.cpp", "sim/rod/energy.hpp"), "");
  EXPECT_EQ(objection("sim/world/world.cpp", "cmath"), "");
  EXPECT_EQ(objection("drivers/camera/recorded.cpp", "filesystem"), "");
  EXPECT_EQ(objection("drivers/camera/recorded.cpp", "opencv2/videoio.hpp"), "");
  EXPECT_EQ(objection("render/device.cpp", "volk.h"), "");
  EXPECT_EQ(objection("config/document.cpp", "toml++/toml.h"), "");
  EXPECT_EQ(objection("config/scenario_file.cpp", "sim/world/params.hpp"), "");
  EXPECT_EQ(objection("appliance/main.cpp", "sim/world/world.hpp"), "");
  EXPECT_EQ(objection("appliance/knot/homfly_library.cpp", "homfly.h"), "");
  EXPECT_TRUE(
      includes_of("// #include <mutex>\n/* #include <thread>\n#include <chrono> */\nint include = 3;\n").empty());
}

/// Targets link downwards only as well: an include that compiles by accident is caught above, a link here.
TEST(Layering, NoTargetLinksUpwards) {
  const std::vector<std::pair<std::string, Words>> forbidden{
      {"sim",
       {"ligature_drivers", "ligature_render", "ligature_config", "ligature_appliance", "opencv", "toml", "volk"}},
      {"drivers",
       {"ligature_sim", "ligature_render", "ligature_config", "ligature_appliance", "toml", "volk", "Vulkan"}},
      {"render", {"ligature_sim", "ligature_drivers", "ligature_config", "ligature_appliance", "toml"}},
      {"config", {"ligature_appliance", "volk", "Vulkan"}},
  };
  for (const auto& [room, names] : forbidden) {
    std::istringstream lines(slurp(kRoot / room / "CMakeLists.txt"));
    std::string text;
    for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find('#')) + "\n";
    for (const auto& name : names) EXPECT_EQ(text.find(name), std::string::npos) << room << " links " << name;
  }
}

}  // namespace
