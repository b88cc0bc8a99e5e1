/// The window under a virtual X server. Resizing and presenting are real; pacing is not (Xvfb has no refresh).
#include <SDL.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "render/renderer.hpp"
#include "tests/render/demo_scene.hpp"

namespace ligature::render {
namespace {

/// Starts Xvfb on a free display and stops it at the end.
class Display {
 public:
  Display() {
    int fds[2];
    if (pipe(fds) != 0) return;
    const std::string fd = std::to_string(fds[1]);
    const char* argv[] = {"Xvfb", "-displayfd", fd.c_str(), "-screen", "0", "1400x700x24", "-nolisten", "tcp", nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid_, "Xvfb", &actions, nullptr, const_cast<char**>(argv), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    std::string number;
    char c = 0;
    pollfd ready{fds[0], POLLIN, 0};
    while (pid_ > 0 && poll(&ready, 1, 20'000) == 1 && read(fds[0], &c, 1) == 1 && c != '\n') number += c;
    close(fds[0]);
    if (number.empty()) return;
    setenv("DISPLAY", (":" + number).c_str(), 1);
    setenv("SDL_VIDEODRIVER", "x11", 1);
    running_ = true;
  }
  ~Display() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  bool running() const { return running_; }

 private:
  pid_t pid_ = -1;
  bool running_ = false;
};

RenderParams window_params() {
  RenderParams p;
  p.device = "cpu";
  p.presenter = "window";
  p.eye_width_px = 160;
  p.eye_height_px = 120;
  p.samples = 1;
  p.validation = true;
  return p;
}
SDL_Window* only_window() {
  for (std::uint32_t id = 1; id < 64; ++id)
    if (SDL_Window* w = SDL_GetWindowFromID(id)) return w;
  return nullptr;
}

TEST(Window, PresentsResizesAndComesBackAfterALoss) {
  const Display display;
  if (!display.running()) GTEST_SKIP() << "no display can be started: apt-get install xvfb";
  auto made = Renderer::create(window_params(), "test");
  ASSERT_TRUE(made) << made.error().message;
  const auto scene = demo_scene();
  const auto draw = [&](int frames) {
    for (int i = 0; i < frames; ++i) ASSERT_EQ((*made)->render(*scene), Outcome::presented);
    EXPECT_EQ((*made)->validation_messages(), 0U) << (*made)->first_validation_message();
  };
  draw(4);
  EXPECT_FALSE((*made)->picture()) << "a window reads nothing back";

  SDL_Window* window = only_window();
  ASSERT_NE(window, nullptr);
  for (const auto& [w, h] : {std::pair{517, 203}, std::pair{40, 600}, std::pair{1200, 80}, std::pair{320, 120}}) {
    SDL_SetWindowSize(window, w, h);
    draw(4);
  }
  SDL_HideWindow(window);
  draw(2);
  SDL_ShowWindow(window);
  draw(2);

  SDL_Event close{};
  close.type = SDL_WINDOWEVENT;
  close.window.event = SDL_WINDOWEVENT_CLOSE;
  SDL_PushEvent(&close);
  draw(1);
  EXPECT_TRUE((*made)->close_requested());

  (*made)->inject_lost();
  EXPECT_EQ((*made)->render(*scene), Outcome::lost);
  *made = nullptr;
  made = Renderer::create(window_params(), "test");
  ASSERT_TRUE(made) << made.error().message;
  // As in the appliance: made on one thread, drawn from another.
  std::thread([&] { draw(3); }).join();
}

TEST(Window, WithoutADisplayItIsUnavailable) {
  unsetenv("DISPLAY");
  unsetenv("WAYLAND_DISPLAY");
  setenv("SDL_VIDEODRIVER", "x11", 1);
  const auto made = Renderer::create(window_params(), "test");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, Error::Kind::unavailable);
  EXPECT_NE(made.error().message.find("DISPLAY"), std::string::npos);
}

}  // namespace
}  // namespace ligature::render
