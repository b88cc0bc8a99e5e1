#include <gtest/gtest.h>

#include "render/picture_file.hpp"
#include "tests/render/demo_scene.hpp"

namespace ligature::render {
namespace {

TEST(Renderer, DrawsWithoutAValidationMessage) {
  for (const char* passes : {"one", "two"}) {
    RenderParams params;
    params.device = "cpu";
    params.validation = true;
    params.passes = passes;
    auto renderer = Renderer::create(params, "ligature test");
    ASSERT_TRUE(renderer) << renderer.error().message;
    const auto scene = demo_scene();
    ASSERT_EQ((*renderer)->render(*scene), Outcome::presented);
    ASSERT_EQ((*renderer)->render_test_picture(), Outcome::presented);
    EXPECT_EQ((*renderer)->validation_messages(), 0U) << (*renderer)->first_validation_message();
  }
}

}  // namespace
}  // namespace ligature::render
