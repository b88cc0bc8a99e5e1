/// Makes the demo recording from the keyframes in this folder: `make_demo_recording RIG.toml KEYFRAME_DIR OUT_DIR`.
/// Everything is seeded: the same binary and libraries give the same files.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "config/rig_file.hpp"
#include "drivers/camera/recorder.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "drivers/virtual_rig/virtual_camera.hpp"

namespace {

using namespace ligature;
using namespace ligature::drivers;

Result<void> make(const std::string& rig_file, const std::string& keys, const std::string& out) {
  const auto loaded = config::load_rig(rig_file);
  if (!loaded) return unexpected(loaded.error());
  const Rig& rig = *loaded;
  auto left = load_path(keys + "/left.csv"), right = load_path(keys + "/right.csv");
  if (!left) return unexpected(left.error());
  if (!right) return unexpected(right.error());
  TremorParams tremor;
  tremor.seed = 20261120;
  auto made = HandPath::create({*left, *right}, PathBlend::minimum_jerk, tremor, rig, false);
  if (!made) return unexpected(made.error());
  const auto path = std::make_shared<const HandPath>(std::move(*made));

  VirtualRigParams params;
  params.seed = 20261120;
  params.noise = 0.03;
  params.duration_s = path->duration_s();
  RecorderParams recorder_params;
  recorder_params.rate_hz = params.rate_hz;
  auto recorder = FrameRecorder::create(out, recorder_params);
  if (!recorder) return unexpected(recorder.error());
  std::array<ForcepsPath, kInstruments> truth;
  std::array<std::unique_ptr<FrameSource>, kCameras> cameras;
  for (std::size_t c = 0; c < kCameras; ++c) {
    auto camera = make_virtual_camera(params, rig, c, path);
    if (!camera) return unexpected(camera.error());
    cameras[c] = std::move(*camera);
  }
  Frame frame;
  for (bool over = false; !over;) {
    for (std::size_t c = 0; c < kCameras; ++c) {
      const FrameStatus status = cameras[c]->next(frame);
      if ((over = status == FrameStatus::end)) break;
      if (Result<void> written = (*recorder)->write(c, frame, status); !written) return written;
    }
    if (over) break;
    const auto at = path->evaluate_W(1e-9 * static_cast<double>(frame.mid_exposure_ns));
    for (std::size_t i = 0; i < kInstruments; ++i) truth[i].push_back(at[i]);
  }
  if (Result<void> done = (*recorder)->finish(); !done) return done;
  if (Result<void> saved = save_path(out + "/truth_left.csv", truth[0]); !saved) return saved;
  return save_path(out + "/truth_right.csv", truth[1]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_demo_recording RIG.toml KEYFRAME_DIR OUT_DIR\n");
    return 2;
  }
  const Result<void> made = make(argv[1], argv[2], argv[3]);
  if (!made) std::fprintf(stderr, "%s\n", made.error().message.c_str());
  return made ? 0 : made.error().kind == Error::Kind::usage ? 2 : 1;
}
