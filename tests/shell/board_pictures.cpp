/// Pictures of a calibration board held into the standard rig: `board_pictures DIR` writes DIR/C0 ... C3/000.png ...
#include <cstdio>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>

#include "tests/calibration/render.hpp"
#include "tests/calibration/synthetic.hpp"

int main(int argc, char** argv) {
  using namespace ligature;
  if (argc != 2) return std::fprintf(stderr, "board_pictures DIR\n"), 2;
  const auto board = calibration::parse_board("checkerboard:9x6:20mm");
  if (!board) return std::fprintf(stderr, "%s\n", board.error().message.c_str()), 1;
  const drivers::Rig rig = drivers::standard_rig();
  const auto poses = calibration::test::board_poses(30, 7);
  for (const auto& camera : rig.cameras) {
    const std::filesystem::path folder = std::filesystem::path(argv[1]) / camera.name;
    std::filesystem::create_directories(folder);
    for (std::size_t f = 0; f < poses.size(); ++f) {
      calibration::test::Photo photo;
      photo.seed = 1000 * f + static_cast<std::uint64_t>(camera.name[1]);
      char name[32];
      std::snprintf(name, sizeof name, "%03zu.png", f);
      cv::imwrite((folder / name).string(),
                  calibration::test::photograph(*board, camera, inverse(camera.X_RC) * poses[f], photo));
    }
  }
  return 0;
}
