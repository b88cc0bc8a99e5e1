#include "render/renderer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "render/mesh.hpp"
#include "render/overlay.hpp"
#include "render/soft.hpp"
#include "render/tube.hpp"
#include "render/vulkan/film.hpp"
#include "render/vulkan/presenter.hpp"
#include "render/vulkan/shaders.hpp"

namespace ligature::render {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// After this a picture is lost. Drivers compile at the first one, and one that draws on the processor gets as little of
// it as others leave: neither is lost because it is slow.
constexpr std::uint64_t kFrameTimeout_ns = 5'000'000'000, kSlowTimeout_ns = 120'000'000'000;
constexpr std::size_t kModels = 3 * kInstruments + 1;
constexpr std::size_t kIdentityModel = kModels - 1;
constexpr std::size_t kMaxFixedRings = kInstruments * 2 * kArmStations + 5 * 4;
constexpr std::size_t kMaxRings = kMaxThreadRings + kMaxFixedRings;
constexpr std::int32_t kLight = 2;   ///< the third eye
constexpr double kLightReach = 0.9;  ///< half the width of what the key light's pictures hold, in fields of view
/// Parts that an edge of tissue is drawn in.
std::uint32_t pieces(const Device& device) {
  if (!device.is_cpu) return 4;
  return device.samples > 1 ? 2 : 1;  // small triangles are what a processor is slow at
}
constexpr VkFormat kShadeFormat = VK_FORMAT_D16_UNORM;  ///< one that every device has for this

/// The same layout as Frame in frame.glsl (std140).
struct FrameUniform {
  std::array<Mat4, 3> clip_W;
  std::array<std::array<float, 4>, 3> eye_p_W;
  std::array<float, 4> to_light_W;
  std::array<float, 4> to_microscope_W;
  std::array<float, 4> target_p_W;
  std::array<float, 4> bench;
  std::array<std::array<float, 4>, 8> corner_p_W;
  std::array<Mat4, kModels> model_W;
  std::array<std::array<float, 4>, kMaxHoles> holes;
  std::array<float, 4> shade_box;
  std::array<std::int32_t, 4> holes_count;
};
static_assert(sizeof(FrameUniform) == 64 * (3 + kModels) + 16 * (17 + kMaxHoles));

struct Push {
  std::int32_t eye = 0, first = 0, model = 0, status = 0;
};

std::array<float, 4> to_float(Vec3 v, double w) {
  return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z), static_cast<float>(w)};
}

Mat4 to_matrix(const Pose& x) {
  const std::array<Vec3, 3> axis{rotate(x.q, {1, 0, 0}), rotate(x.q, {0, 1, 0}), rotate(x.q, {0, 0, 1})};
  Mat4 m{};
  for (std::size_t c = 0; c < 3; ++c) {
    m[4 * c] = static_cast<float>(axis[c].x);
    m[4 * c + 1] = static_cast<float>(axis[c].y);
    m[4 * c + 2] = static_cast<float>(axis[c].z);
  }
  m[12] = static_cast<float>(x.p.x), m[13] = static_cast<float>(x.p.y), m[14] = static_cast<float>(x.p.z), m[15] = 1;
  return m;
}

bool finite(const Pose& x) {
  return std::isfinite(x.q.x + x.q.y + x.q.z + x.q.w) && std::isfinite(x.p.x + x.p.y + x.p.z) &&
         std::abs(x.p.x) < 1e5 && std::abs(x.p.y) < 1e5 && std::abs(x.p.z) < 1e5;
}

/// Where a point of T goes when its arm has turned about the hinge.
Pose arm_pose(const Pose& X_WT, Vec3 hinge_p_T, double angle_rad) {
  const Quat turn = axis_angle({0, 0, 1}, angle_rad);
  return X_WT * Pose{turn, hinge_p_T - rotate(turn, hinge_p_T)};
}

/// One pass over the picture: both eyes at once, or one.
struct Pass {
  Image colour_samples;  ///< only when multisampled
  Image colour;
  Image depth;
  std::uint32_t layers = 1;
  std::uint32_t view_mask = 0;
  std::int32_t eye = 0;
};

struct DrawRange {
  std::uint32_t first_index = 0, count = 0;
  std::int32_t first_vertex = 0;
};

}  // namespace

std::string RendererInfo::line() const {
  if (presenter == "none") return "no picture";
  return presenter + " on " + device + " (" + driver + "), " +
         (multiview ? "both eyes in one pass" : "one pass per eye") + ", " + std::to_string(samples) + " samples";
}

Result<void> check(const RenderParams& p) {
  const auto within = [](const std::string& key, double value, double low, double high) -> Result<void> {
    if (value >= low && value <= high) return {};
    char text[160];
    std::snprintf(text, sizeof text, "key '%s' is %g, must be %g..%g", key.c_str(), value, low, high);
    return usage_error(text);
  };
  const auto one_of = [](const std::string& key, const std::string& value,
                         std::initializer_list<const char*> allowed) -> Result<void> {
    std::string list;
    for (const char* a : allowed) {
      if (value == a) return {};
      list += std::string(list.empty() ? "" : " | ") + a;
    }
    return usage_error("key '" + key + "' is \"" + value + "\", must be " + list);
  };
  const MicroscopeParams& m = p.microscope;
  const Result<void> checks[] = {
      one_of("device", p.device, {"auto", "cpu", "gpu"}),
      one_of("passes", p.passes, {"auto", "one", "two"}),
      one_of("presenter", p.presenter, {"offscreen", "window", "none"}),
      within("eye_width_px", p.eye_width_px, 1, 16384),
      within("eye_height_px", p.eye_height_px, 1, 16384),
      within("samples", p.samples, 1, 64),
      within("distance_mm", m.distance_mm, 10, 10000),
      within("elevation_deg", m.elevation_deg, 1, 90),
      within("azimuth_deg", m.azimuth_deg, -360, 360),
      within("field_of_view_mm", m.field_of_view_mm, 0.1, 2000),
      within("eye_separation_mm", m.eye_separation_mm, 0, 200),
      within("convergence_mm", m.convergence_mm, 10, 100000),
      within("target_p_W.x", m.target_p_W.x, -1000, 1000),
      within("target_p_W.y", m.target_p_W.y, -1000, 1000),
      within("target_p_W.z", m.target_p_W.z, -1000, 1000),
      within("bench_point_W.z", p.bench_point_W.z, -1000, 1000),
      within("vessel.diameter_mm", p.vessel.diameter_mm, 0.01, 100),
      within("vessel.gap_mm", p.vessel.gap_mm, 0, 1000),
  };
  for (const Result<void>& c : checks)
    if (!c) return unexpected(c.error());
  std::size_t surface_vertices = 0;
  for (const TissueSurface& t : p.tissues) {
    surface_vertices += t.rest.size();
    for (const TissueTriangle& triangle : t.triangles)
      for (const std::uint32_t v : triangle.vertex)
        if (v >= t.rest.size()) return usage_error("a tissue's triangle has a vertex that is not there");
    for (const std::uint32_t v : t.held)
      if (v >= t.rest.size()) return usage_error("a tissue is held at a vertex that is not there");
  }
  if (surface_vertices > kMaxSurfaceVertices || p.tissues.size() > kMaxSurfaces)
    return usage_error("the tissues' surfaces have " + std::to_string(surface_vertices) +
                       " vertices, a picture shows at most " + std::to_string(kMaxSurfaceVertices) +
                       ": give them fewer elements");
  for (const ForcepsShape& f : p.forceps) {
    const Result<void> shape[] = {
        within("hinge_p_T.x", f.hinge_p_T.x, -1000, -10), within("tip_radius_mm", f.tip_radius_mm, 0.01, 10),
        within("jaw_radius_mm", f.jaw_radius_mm, 0.01, 10), within("jaw_length_mm", f.jaw_length_mm, 0.1, 200)};
    for (const Result<void>& c : shape)
      if (!c) return unexpected(c.error());
  }
  return {};
}

struct Renderer::State {
  explicit State(const RenderParams& p, std::string v)
      : params(p), version(std::move(v)), optics(p.microscope, p.eye_width_px, p.eye_height_px) {}
  ~State();

  Result<void> open();
  Result<void> make_passes();
  Result<void> make_geometry();
  Result<void> make_pipelines();
  Result<VkPipeline> make_pipeline(ShaderName vertex, ShaderName fragment, int kind);
  Result<void> make_shades();
  Outcome frame(const SceneSnapshot* scene, const Words& words) noexcept;
  void write_scene(const SceneSnapshot& scene);
  void write_vessel_shadow(std::size_t& rings);
  void write_forceps(std::size_t i, const SnapshotForceps& forceps, std::size_t& rings);
  void record(bool scene, int keep);
  void draw_scene(const Pass& pass);
  void draw_soft(std::int32_t eye);
  void draw_threads(std::int32_t eye);
  void record_shades(bool scene);
  void point_light(FrameUniform& u, Vec3 key);
  void draw_mesh(std::int32_t eye, const DrawRange& range, std::int32_t model, std::int32_t status);
  void bind_meshes();
  void push(std::int32_t eye, std::int32_t first, std::int32_t model, std::int32_t status);

  RenderParams params;
  std::string version;
  Optics optics;
  RendererInfo info;
  FrameTiming timing;
  bool lost = false;

  // The presenter of a window owns the surface, so it must go before the device, and both before SDL's.
  std::unique_ptr<Device> device;
  std::unique_ptr<Presenter> presenter;
  std::vector<Pass> passes;
  EyeImages eyes;
  MappedBuffer uniform, rings, marks, vertices, indices, tube_indices, corners, soft_vertices, soft_indices;
  Image tissue_shade, tool_shade;  ///< depths as the key light sees them; one pixel where there is no tissue
  VkSampler shade_sampler = VK_NULL_HANDLE;
  std::uint32_t shade_size = 1;
  Film film;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline bench = VK_NULL_HANDLE, shadow = VK_NULL_HANDLE, tube = VK_NULL_HANDLE, steel = VK_NULL_HANDLE,
             tissue = VK_NULL_HANDLE, ghost_depth = VK_NULL_HANDLE, ghost = VK_NULL_HANDLE, mark = VK_NULL_HANDLE,
             soft_tissue = VK_NULL_HANDLE, shade_soft = VK_NULL_HANDLE, shade_tube = VK_NULL_HANDLE,
             shade_mesh = VK_NULL_HANDLE;
  VkCommandPool command_pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
  std::uint64_t timeout_ns = kSlowTimeout_ns;

  std::array<DrawRange, kInstruments> forceps_range;
  DrawRange vessel_range, clamps_range;
  std::optional<SoftMesh> soft;  ///< when there is tissue
  std::array<std::array<ArmStation, kArmStations>, kInstruments> stations;

  // Of the frame being drawn.
  TubeBuilder tubes;
  FixedVector<RingRange, kMaxThreads> threads;
  FixedVector<RingRange, kMaxThreads + 2 * kInstruments + 5> shadows;
  std::array<int, kInstruments> status{};  ///< as in the shaders; -1: not drawn
  std::uint32_t mark_count = 0;
};

Result<void> Renderer::State::open() {
  info.presenter = params.presenter;
  if (params.presenter == "none") return {};
  std::unique_ptr<WindowPresenter> window;
  Device::Needs needs;
  if (params.presenter == "window") {
    auto made = make_window_presenter(params);
    if (!made) return unexpected(made.error());
    window = std::move(*made);
    needs = window->needs();
  }
  auto made = Device::create(params, needs);
  if (!made) return unexpected(made.error());
  device = std::move(*made);
  VkSurfaceKHR surface = VK_NULL_HANDLE;
  if (window) {
    auto s = window->make_surface(device->instance);
    presenter = std::unique_ptr<Presenter>(window.release());
    if (!s) return unexpected(s.error());
    surface = *s;
  }
  if (auto r = device->open(params, surface); !r) return r;
  if (surface != VK_NULL_HANDLE) {
    if (auto r = static_cast<WindowPresenter&>(*presenter).open(*device); !r) return r;
  } else {
    auto offscreen = make_offscreen_presenter(*device, params);
    if (!offscreen) return unexpected(offscreen.error());
    presenter = std::move(*offscreen);
  }
  info.device = device->name;
  info.driver = device->driver;
  info.software = device->is_cpu;
  info.multiview = device->multiview;
  info.samples = device->samples;

  if (auto r = make_passes(); !r) return r;
  if (auto r = make_geometry(); !r) return r;
  if (auto r = make_shades(); !r) return r;
  auto made_film = Film::create(*device, eyes.width, eyes.height);
  if (!made_film) return unexpected(made_film.error());
  film = std::move(*made_film);
  if (auto r = make_pipelines(); !r) return r;

  VkCommandPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool_info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
  pool_info.queueFamilyIndex = device->family;
  VkFenceCreateInfo fence_info{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkResult r = device->vk.vkCreateCommandPool(device->handle, &pool_info, nullptr, &command_pool);
  if (r == VK_SUCCESS) {
    VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = command_pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    r = device->vk.vkAllocateCommandBuffers(device->handle, &allocate, &commands);
  }
  if (r == VK_SUCCESS) r = device->vk.vkCreateFence(device->handle, &fence_info, nullptr, &fence);
  if (r != VK_SUCCESS) return unavailable("no Vulkan command buffer: " + vk_name(r));
  return {};
}

Result<void> Renderer::State::make_passes() {
  const auto width = static_cast<std::uint32_t>(params.eye_width_px);
  const auto height = static_cast<std::uint32_t>(params.eye_height_px);
  const auto samples = static_cast<VkSampleCountFlagBits>(device->samples);
  // Two bugs of Mesa's software driver (22.3) shape this. Multiview sends a batch with a clipped triangle to the layer
  // of the draw before, so "auto" takes two passes there (it draws the eyes one after the other anyway). And a
  // one-layer view of layer 1 is resolved into layer 0, so two passes have one image each.
  const std::uint32_t count = device->multiview ? 1 : 2;
  eyes.width = width, eyes.height = height;
  for (std::uint32_t i = 0; i < count; ++i) {
    Pass pass;
    pass.layers = device->multiview ? 2 : 1;
    pass.view_mask = device->multiview ? 3 : 0;
    pass.eye = static_cast<std::int32_t>(i);
    const auto make = [&](Image& image, VkFormat format, VkSampleCountFlagBits n, VkImageUsageFlags usage,
                          VkImageAspectFlags aspect) -> Result<void> {
      auto made = Image::create(*device, {format, width, height, pass.layers, n, usage, aspect});
      if (!made) return unexpected(made.error());
      image = std::move(*made);
      return {};
    };
    const VkImageUsageFlags out = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (auto r = make(pass.colour, kPictureFormat, VK_SAMPLE_COUNT_1_BIT, out, VK_IMAGE_ASPECT_COLOR_BIT); !r) return r;
    if (device->samples > 1)
      if (auto r = make(pass.colour_samples, kPictureFormat, samples, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                        VK_IMAGE_ASPECT_COLOR_BIT);
          !r)
        return r;
    if (auto r = make(pass.depth, device->depth_format, samples, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                      VK_IMAGE_ASPECT_DEPTH_BIT);
        !r)
      return r;
    passes.push_back(std::move(pass));
  }
  eyes.image = {passes.front().colour.handle(), passes.back().colour.handle()};
  eyes.layer = {0, device->multiview ? 1U : 0U};
  return {};
}

Result<void> Renderer::State::make_geometry() {
  std::vector<MeshVertex> all_vertices;
  std::vector<std::uint32_t> all_indices;
  const auto append = [&](const Mesh& mesh) {
    const DrawRange range{static_cast<std::uint32_t>(all_indices.size()),
                          static_cast<std::uint32_t>(mesh.indices.size()),
                          static_cast<std::int32_t>(all_vertices.size())};
    all_vertices.insert(all_vertices.end(), mesh.vertices.begin(), mesh.vertices.end());
    all_indices.insert(all_indices.end(), mesh.indices.begin(), mesh.indices.end());
    return range;
  };
  for (std::size_t i = 0; i < kInstruments; ++i) {
    forceps_range[i] = append(forceps_mesh(params.forceps[i]));
    stations[i] = arm_stations(params.forceps[i]);
  }
  vessel_range = append(vessel_mesh(params.vessel, params.bench_point_W.z));
  clamps_range = append(clamps_mesh(params.tissues, params.bench_point_W.z));
  if (!params.tissues.empty()) soft.emplace(params.tissues, pieces(*device));

  // Two triangles per side between neighbouring rings, outside facing out.
  std::vector<std::uint32_t> sweep;
  sweep.reserve(kMaxThreadRings * kTubeSides * 6);
  for (std::uint32_t ring = 0; ring + 1 < kMaxThreadRings; ++ring)
    for (std::uint32_t side = 0; side < kTubeSides; ++side) {
      const std::uint32_t a = ring * kTubeSides + side, b = ring * kTubeSides + (side + 1) % kTubeSides;
      sweep.insert(sweep.end(), {a, b, b + kTubeSides, a, b + kTubeSides, a + kTubeSides});
    }

  const auto make = [this](MappedBuffer& buffer, std::size_t bytes, VkBufferUsageFlags usage,
                           const void* data) -> Result<void> {
    auto made = MappedBuffer::create(*device, bytes, usage, MappedBuffer::Use::upload);
    if (!made) return unexpected(made.error());
    buffer = std::move(*made);
    if (data != nullptr) std::memcpy(buffer.as<char>(), data, bytes);
    return {};
  };
  if (auto r = make(uniform, sizeof(FrameUniform), VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, nullptr); !r) return r;
  if (auto r = make(rings, sizeof(Ring) * kMaxRings, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, nullptr); !r) return r;
  if (auto r = make(marks, sizeof(Mark) * kMaxMarks, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, nullptr); !r) return r;
  if (auto r = make(vertices, all_vertices.size() * sizeof(MeshVertex), VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
                    all_vertices.data());
      !r)
    return r;
  if (auto r = make(indices, all_indices.size() * 4, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, all_indices.data()); !r)
    return r;
  if (auto r = make(tube_indices, sweep.size() * 4, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, sweep.data()); !r) return r;
  const std::size_t count = soft ? soft->corners() : 1;
  if (auto r = make(corners, count * sizeof(SoftCorner), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, nullptr); !r) return r;
  if (!soft) return {};
  soft->place_at_rest(corners.as<SoftCorner>());
  if (auto r = make(soft_vertices, soft->vertices().size() * sizeof(SoftVertex), VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
                    soft->vertices().data());
      !r)
    return r;
  return make(soft_indices, soft->indices().size() * 4, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, soft->indices().data());
}

Result<void> Renderer::State::make_shades() {
  // About a texel a pixel: the key light's pictures are 1.8 fields of view wide, the eye's is one high.
  if (soft)
    for (shade_size = 512; shade_size < 2 * eyes.height && shade_size < 4096;) shade_size *= 2;
  for (Image* image : {&tissue_shade, &tool_shade}) {
    auto made = Image::create(
        *device, {kShadeFormat, shade_size, shade_size, 1, VK_SAMPLE_COUNT_1_BIT,
                  VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_ASPECT_DEPTH_BIT});
    if (!made) return unexpected(made.error());
    *image = std::move(*made);
  }
  VkSamplerCreateInfo info_sampler{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  info_sampler.magFilter = info_sampler.minFilter = VK_FILTER_LINEAR;
  info_sampler.addressModeU = info_sampler.addressModeV = info_sampler.addressModeW =
      VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER;
  info_sampler.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
  info_sampler.compareEnable = VK_TRUE;
  info_sampler.compareOp = VK_COMPARE_OP_LESS_OR_EQUAL;
  if (const VkResult r = device->vk.vkCreateSampler(device->handle, &info_sampler, nullptr, &shade_sampler);
      r != VK_SUCCESS)
    return unavailable("no Vulkan sampler: " + vk_name(r));
  return {};
}

namespace {
enum PipelineKind {
  kBench,
  kShadow,
  kTube,
  kMesh,
  kSoft,
  kGhostDepth,
  kGhost,
  kMark,
  kShadeTube,
  kShadeMesh,
  kShadeSoft
};
}

Result<VkPipeline> Renderer::State::make_pipeline(ShaderName vertex, ShaderName fragment, int kind) {
  const bool shade = kind == kShadeTube || kind == kShadeMesh || kind == kShadeSoft;
  const bool multiview = device->multiview && !shade;
  std::array<VkShaderModule, 2> modules{};
  std::array<VkPipelineShaderStageCreateInfo, 2> stages{};
  for (std::size_t i = 0; i < 2; ++i) {
    const ShaderCode code = shader_code(i == 0 ? vertex : fragment, multiview);
    VkShaderModuleCreateInfo info_module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info_module.codeSize = code.bytes;
    info_module.pCode = code.words;
    if (const VkResult r = device->vk.vkCreateShaderModule(device->handle, &info_module, nullptr, &modules[i]);
        r != VK_SUCCESS) {
      if (i == 1) device->vk.vkDestroyShaderModule(device->handle, modules[0], nullptr);
      return unavailable("a shader does not load: " + vk_name(r));
    }
    stages[i].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stages[i].stage = i == 0 ? VK_SHADER_STAGE_VERTEX_BIT : VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[i].module = modules[i];
    stages[i].pName = "main";
  }
  const auto sides = static_cast<std::int32_t>(kTubeSides);
  const VkSpecializationMapEntry entry{0, 0, sizeof sides};
  const VkSpecializationInfo special{1, &entry, sizeof sides, &sides};
  const bool tubes_swept = kind == kTube || kind == kShadeTube, is_soft = kind == kSoft || kind == kShadeSoft;
  if (tubes_swept) stages[0].pSpecializationInfo = &special;

  const bool mesh = kind == kMesh || kind == kGhostDepth || kind == kGhost || kind == kShadeMesh;
  const VkVertexInputBindingDescription binding{
      0, static_cast<std::uint32_t>(is_soft ? sizeof(SoftVertex) : sizeof(MeshVertex)), VK_VERTEX_INPUT_RATE_VERTEX};
  const std::array<VkVertexInputAttributeDescription, 4> attributes{{
      {0, 0, VK_FORMAT_R32G32B32_SFLOAT, offsetof(MeshVertex, position)},
      {1, 0, VK_FORMAT_R32G32B32_SFLOAT, offsetof(MeshVertex, normal)},
      {2, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(MeshVertex, along)},
      {3, 0, VK_FORMAT_R32G32_UINT, offsetof(MeshVertex, material)},
  }};
  const std::array<VkVertexInputAttributeDescription, 5> soft_attributes{{
      {0, 0, VK_FORMAT_R32G32B32_UINT, offsetof(SoftVertex, corner)},
      {1, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(SoftVertex, weight)},
      {2, 0, VK_FORMAT_R32G32B32_SFLOAT, offsetof(SoftVertex, rest)},
      {3, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(SoftVertex, depth)},
      {4, 0, VK_FORMAT_R32_UINT, offsetof(SoftVertex, material)},
  }};
  VkPipelineVertexInputStateCreateInfo input{VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  if (mesh) {
    input.vertexBindingDescriptionCount = 1;
    input.pVertexBindingDescriptions = &binding;
    input.vertexAttributeDescriptionCount = static_cast<std::uint32_t>(attributes.size());
    input.pVertexAttributeDescriptions = attributes.data();
  }
  if (is_soft) {
    input.vertexBindingDescriptionCount = 1;
    input.pVertexBindingDescriptions = &binding;
    input.vertexAttributeDescriptionCount = static_cast<std::uint32_t>(soft_attributes.size());
    input.pVertexAttributeDescriptions = soft_attributes.data();
  }
  VkPipelineInputAssemblyStateCreateInfo assembly{VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO};
  assembly.topology =
      mesh || tubes_swept || is_soft ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP;
  const VkExtent2D size = shade ? VkExtent2D{shade_size, shade_size} : VkExtent2D{eyes.width, eyes.height};
  const VkViewport viewport{0, 0, static_cast<float>(size.width), static_cast<float>(size.height), 0, 1};
  const VkRect2D scissor{{0, 0}, size};
  VkPipelineViewportStateCreateInfo view{VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
  view.viewportCount = 1;
  view.pViewports = &viewport;
  view.scissorCount = 1;
  view.pScissors = &scissor;
  VkPipelineRasterizationStateCreateInfo raster{VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO};
  raster.polygonMode = VK_POLYGON_MODE_FILL;
  raster.cullMode = kind == kTube ? VK_CULL_MODE_BACK_BIT : VK_CULL_MODE_NONE;
  raster.frontFace = VK_FRONT_FACE_COUNTER_CLOCKWISE;
  raster.lineWidth = 1;
  VkPipelineMultisampleStateCreateInfo multisample{VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO};
  multisample.rasterizationSamples =
      shade ? VK_SAMPLE_COUNT_1_BIT : static_cast<VkSampleCountFlagBits>(device->samples);
  VkPipelineDepthStencilStateCreateInfo depth{VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
  depth.depthTestEnable = kind != kShadow && kind != kMark;
  depth.depthWriteEnable = kind != kShadow && kind != kMark && kind != kGhost;
  depth.depthCompareOp = kind == kGhost ? VK_COMPARE_OP_EQUAL : VK_COMPARE_OP_LESS;
  VkPipelineColorBlendAttachmentState blend{};
  if (kind != kGhostDepth)
    blend.colorWriteMask =
        VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
  if (kind == kShadow || kind == kGhost || kind == kMark) {
    blend.blendEnable = VK_TRUE;
    blend.srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA;
    blend.dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA;
    blend.colorBlendOp = VK_BLEND_OP_ADD;
    blend.srcAlphaBlendFactor = VK_BLEND_FACTOR_ZERO;  // the picture stays opaque
    blend.dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE;
    blend.alphaBlendOp = VK_BLEND_OP_ADD;
  }
  VkPipelineColorBlendStateCreateInfo blending{VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
  blending.attachmentCount = 1;
  blending.pAttachments = &blend;
  VkPipelineRenderingCreateInfo rendering{VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
  rendering.viewMask = multiview ? 3 : 0;
  rendering.colorAttachmentCount = shade ? 0 : 1;
  rendering.pColorAttachmentFormats = shade ? nullptr : &kPictureFormat;
  rendering.depthAttachmentFormat = shade ? kShadeFormat : device->depth_format;
  if (shade) blending.attachmentCount = 0;
  VkGraphicsPipelineCreateInfo pipeline_info{VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
  pipeline_info.pNext = &rendering;
  pipeline_info.stageCount = 2;
  pipeline_info.pStages = stages.data();
  pipeline_info.pVertexInputState = &input;
  pipeline_info.pInputAssemblyState = &assembly;
  pipeline_info.pViewportState = &view;
  pipeline_info.pRasterizationState = &raster;
  pipeline_info.pMultisampleState = &multisample;
  pipeline_info.pDepthStencilState = &depth;
  pipeline_info.pColorBlendState = &blending;
  pipeline_info.layout = layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult r =
      device->vk.vkCreateGraphicsPipelines(device->handle, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline);
  for (const VkShaderModule module : modules) device->vk.vkDestroyShaderModule(device->handle, module, nullptr);
  if (r != VK_SUCCESS) return unavailable("a Vulkan pipeline is refused: " + vk_name(r));
  return pipeline;
}

Result<void> Renderer::State::make_pipelines() {
  const VkShaderStageFlags both = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
  const std::array<VkDescriptorSetLayoutBinding, 7> bindings{{
      {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, both, nullptr},
      {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_VERTEX_BIT, nullptr},
      {2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, both, nullptr},
      {3, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_VERTEX_BIT, nullptr},
      {4, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, nullptr},
      {5, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, nullptr},
      {6, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_FRAGMENT_BIT, nullptr},
  }};
  VkDescriptorSetLayoutCreateInfo set_info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set_info.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set_info.pBindings = bindings.data();
  VkResult r = device->vk.vkCreateDescriptorSetLayout(device->handle, &set_info, nullptr, &set_layout);
  const std::array<VkDescriptorPoolSize, 3> sizes{{{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                                   {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3},
                                                   {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 3}}};
  VkDescriptorPoolCreateInfo pool_info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool_info.maxSets = 1;
  pool_info.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
  pool_info.pPoolSizes = sizes.data();
  if (r == VK_SUCCESS) r = device->vk.vkCreateDescriptorPool(device->handle, &pool_info, nullptr, &pool);
  if (r == VK_SUCCESS) {
    VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &set_layout;
    r = device->vk.vkAllocateDescriptorSets(device->handle, &allocate, &set);
  }
  const VkPushConstantRange push_range{both, 0, sizeof(Push)};
  VkPipelineLayoutCreateInfo layout_info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout_info.setLayoutCount = 1;
  layout_info.pSetLayouts = &set_layout;
  layout_info.pushConstantRangeCount = 1;
  layout_info.pPushConstantRanges = &push_range;
  if (r == VK_SUCCESS) r = device->vk.vkCreatePipelineLayout(device->handle, &layout_info, nullptr, &layout);
  if (r != VK_SUCCESS) return unavailable("no Vulkan pipeline layout: " + vk_name(r));

  const std::array<VkDescriptorBufferInfo, 4> buffers{{{uniform.handle(), 0, VK_WHOLE_SIZE},
                                                       {rings.handle(), 0, VK_WHOLE_SIZE},
                                                       {marks.handle(), 0, VK_WHOLE_SIZE},
                                                       {corners.handle(), 0, VK_WHOLE_SIZE}}};
  const std::array<VkDescriptorImageInfo, 3> images{
      {{shade_sampler, tissue_shade.view(), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL},
       {shade_sampler, tool_shade.view(), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL},
       {film.sampler(), film.view(), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL}}};
  std::array<VkWriteDescriptorSet, 7> writes{};
  for (std::uint32_t i = 0; i < writes.size(); ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = bindings[i].descriptorType;
    if (i < buffers.size())
      writes[i].pBufferInfo = &buffers[i];
    else
      writes[i].pImageInfo = &images[i - buffers.size()];
  }
  device->vk.vkUpdateDescriptorSets(device->handle, static_cast<std::uint32_t>(writes.size()), writes.data(), 0,
                                    nullptr);

  struct Wanted {
    VkPipeline* out;
    ShaderName vertex, fragment;
    int kind;
  };
  const Wanted wanted[] = {
      {&bench, ShaderName::bench_vert, ShaderName::bench_frag, kBench},
      {&shadow, ShaderName::shadow_vert, ShaderName::shadow_frag, kShadow},
      {&tube, ShaderName::tube_vert, ShaderName::tube_frag, kTube},
      {&steel, ShaderName::mesh_vert, ShaderName::steel_frag, kMesh},
      {&tissue, ShaderName::mesh_vert, ShaderName::tissue_frag, kMesh},
      {&ghost_depth, ShaderName::mesh_vert, ShaderName::depth_frag, kGhostDepth},
      {&ghost, ShaderName::mesh_vert, ShaderName::steel_frag, kGhost},
      {&mark, ShaderName::mark_vert, ShaderName::mark_frag, kMark},
      {&soft_tissue, ShaderName::soft_vert, ShaderName::tissue_frag, kSoft},
      {&shade_soft, ShaderName::soft_vert, ShaderName::depth_frag, kShadeSoft},
      {&shade_tube, ShaderName::tube_vert, ShaderName::depth_frag, kShadeTube},
      {&shade_mesh, ShaderName::mesh_vert, ShaderName::depth_frag, kShadeMesh},
  };
  for (const Wanted& w : wanted) {
    auto made = make_pipeline(w.vertex, w.fragment, w.kind);
    if (!made) return unexpected(made.error());
    *w.out = *made;
  }
  return {};
}

Renderer::State::~State() {
  if (!device || device->handle == VK_NULL_HANDLE) {
    presenter.reset();
    return;
  }
  device->vk.vkDeviceWaitIdle(device->handle);
  const VkDevice d = device->handle;
  for (const VkPipeline p :
       {bench, shadow, tube, steel, tissue, ghost_depth, ghost, mark, soft_tissue, shade_soft, shade_tube, shade_mesh})
    device->vk.vkDestroyPipeline(d, p, nullptr);
  device->vk.vkDestroySampler(d, shade_sampler, nullptr);
  device->vk.vkDestroyPipelineLayout(d, layout, nullptr);
  device->vk.vkDestroyDescriptorPool(d, pool, nullptr);
  device->vk.vkDestroyDescriptorSetLayout(d, set_layout, nullptr);
  device->vk.vkDestroyFence(d, fence, nullptr);
  device->vk.vkDestroyCommandPool(d, command_pool, nullptr);
  presenter.reset();
  passes.clear();
}

void Renderer::State::write_forceps(std::size_t i, const SnapshotForceps& forceps, std::size_t& ring_count) {
  auto& model = uniform.as<FrameUniform>()->model_W;
  status[i] = -1;
  if (!finite(forceps.X_WT) || !std::isfinite(forceps.opening_rad)) return;
  // A lost instrument that was never seen has no place to be shown at.
  const Pose& X = forceps.X_WT;
  if (forceps.status == TrackStatus::lost && X.p == Vec3{} && X.q == Quat{}) return;
  status[i] = static_cast<int>(forceps.status);
  const Pose X_WT{normalized(X.q), X.p};
  const double half = 0.5 * std::clamp(forceps.opening_rad, 0.0, 0.6);
  const Vec3 hinge = params.forceps[i].hinge_p_T;
  std::array<Pose, 3> part{arm_pose(X_WT, hinge, half), arm_pose(X_WT, hinge, -half), X_WT};
  if (const auto& aside = forceps.aside; std::isfinite(norm(aside[0])) && std::isfinite(norm(aside[1]))) {
    for (std::size_t arm = 0; arm < 2; ++arm) part[arm].p = part[arm].p + aside[arm];
    part[2].p = part[2].p + 0.5 * (aside[0] + aside[1]);
  }
  for (std::size_t k = 0; k < 3; ++k) model[3 * i + k] = to_matrix(part[k]);

  const float strength = forceps.status == TrackStatus::tracked ? 0.60F : 0.30F;
  Ring* out = rings.as<Ring>();
  for (std::size_t arm = 0; arm < 2; ++arm) {
    const auto first = static_cast<std::uint32_t>(ring_count);
    const Vec3 along = rotate(part[arm].q, {-1, 0, 0});
    for (const ArmStation& s : stations[i]) {
      const double sign = arm == 0 ? 1 : -1;
      const Vec3 p = part[arm] * (Vec3{s.x_mm - hinge.x, sign * s.centre_y_mm, 0} + hinge);
      Ring ring;
      ring.centre = {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)};
      ring.radius = static_cast<float>(0.5 * (s.half_y_mm + s.half_z_mm));
      ring.tangent = {static_cast<float>(along.x), static_cast<float>(along.y), static_cast<float>(along.z)};
      ring.strength = strength * static_cast<float>(std::min(1.0, -s.x_mm));  // the end fades, as its sides do
      out[ring_count++] = ring;
    }
    shadows.push_back({first, static_cast<std::uint32_t>(kArmStations)});
  }
}

void Renderer::State::write_scene(const SceneSnapshot& scene) {
  FrameUniform& u = *uniform.as<FrameUniform>();
  const MicroscopeParams& m = params.microscope;
  for (const Eye eye : {Eye::left, Eye::right}) {
    u.clip_W[static_cast<std::size_t>(eye)] = optics.clip_W(eye);
    u.eye_p_W[static_cast<std::size_t>(eye)] = to_float(optics.eye_p_W(eye), 1);
    for (std::size_t corner = 0; corner < 4; ++corner) {
      double depth_mm = 0;
      const Vec3 p = optics.on_plane(eye, corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, params.bench_point_W.z, depth_mm);
      u.corner_p_W[4 * static_cast<std::size_t>(eye) + corner] = to_float(p, depth_mm);
    }
  }
  // The lamp shines along the microscope; a second, oblique one from the upper left throws the shadows that tell how
  // high an instrument is.
  const Vec3 coaxial = -1.0 * optics.forward_W();
  Vec3 key = 0.45 * coaxial + Vec3{0, 0, 0.75} - 0.42 * optics.right_W() + 0.1 * optics.up_W();
  key = (1 / norm(key)) * key;
  u.to_light_W = to_float(key, 0.040);
  u.to_microscope_W = to_float(coaxial, optics.px_per_mm());
  u.target_p_W = to_float(m.target_p_W, 0.9 * m.field_of_view_mm);
  if (soft) soft->place(scene, corners.as<SoftCorner>());
  point_light(u, key);
  for (std::size_t i = 0; i < scene.holes.size(); ++i) {
    const SnapshotHole& hole = scene.holes[i];
    u.holes[i] = {hole.place.x, hole.place.y, hole.place.z, hole.radius_mm};
  }
  u.holes_count = {static_cast<std::int32_t>(scene.holes.size()), 0, 0, 0};
  u.model_W[kIdentityModel] = to_matrix({});

  threads.clear();
  shadows.clear();
  // A ring every three pixels is beyond what the eye resolves once normals are interpolated.
  Ring* const out = rings.as<Ring>();
  std::size_t count =
      tubes.build(scene, 3 / optics.px_per_mm(), 0.45 / optics.px_per_mm(), out, kMaxThreadRings, threads);
  for (const RingRange& t : threads) {
    for (std::uint32_t k = 0; k < t.count; ++k) {
      Ring& ring = out[t.first + k];
      ring.strength = 0.72F + (ring.strength > kWire ? kWire : 0.0F);
    }
    shadows.push_back(t);
  }
  for (std::size_t i = 0; i < kInstruments; ++i) write_forceps(i, scene.forceps[i], count);
  if (vessel_range.count > 0) write_vessel_shadow(count);
}

/// The key light as an eye that sees around the target, from infinitely far away: z = 0 near it, 1 far from it.
void Renderer::State::point_light(FrameUniform& u, Vec3 key) {
  const MicroscopeParams& m = params.microscope;
  const double reach = kLightReach * m.field_of_view_mm;
  const Vec3 side = cross({0, 1, 0}, key), x = (1 / norm(side)) * side, y = cross(key, x);
  const std::array<Vec3, 3> row{(1 / reach) * x, (1 / reach) * y, (-0.25 / reach) * key};
  Mat4& clip = u.clip_W[kLight];
  clip = {};
  for (std::size_t r = 0; r < 3; ++r) {
    clip[r] = static_cast<float>(row[r].x), clip[4 + r] = static_cast<float>(row[r].y);
    clip[8 + r] = static_cast<float>(row[r].z);
    clip[12 + r] = static_cast<float>((r == 2 ? 0.5 : 0.0) - dot(row[r], m.target_p_W));
  }
  clip[15] = 1;
  // Shadows fall on what is behind the tissue, as the light sees it: within the tissue's outline.
  u.shade_box = {1, 1, 0, 0};
  for (int corner = 0; soft && corner < 8; ++corner) {
    const Vec3 &low = soft->low(), &high = soft->high();
    const Vec3 p{corner & 1 ? high.x : low.x, corner & 2 ? high.y : low.y, corner & 4 ? high.z : low.z};
    constexpr float kMargin = 0.01F;
    const auto a = static_cast<float>(0.5 + 0.5 * dot(row[0], p - m.target_p_W));
    const auto b = static_cast<float>(0.5 + 0.5 * dot(row[1], p - m.target_p_W));
    u.shade_box = {std::min(u.shade_box[0], a - kMargin), std::min(u.shade_box[1], b - kMargin),
                   std::max(u.shade_box[2], a + kMargin), std::max(u.shade_box[3], b + kMargin)};
  }
  u.eye_p_W[kLight] = to_float(m.target_p_W + (10 * reach) * key, 1);
  u.bench = {static_cast<float>(params.bench_point_W.z), static_cast<float>(params.eye_width_px),
             static_cast<float>(params.eye_height_px), static_cast<float>(2 * reach / shade_size)};
}

void Renderer::State::write_vessel_shadow(std::size_t& ring_count) {
  const VesselParams& v = params.vessel;
  const Vec3 a = v.from_p_W, b = v.to_p_W, middle = 0.5 * (a + b), axis = (1 / norm(b - a)) * (b - a);
  const double radius = 0.5 * v.diameter_mm;
  const auto strip = [&](Vec3 from, Vec3 to, double half_width) {
    const auto first = static_cast<std::uint32_t>(ring_count);
    const Vec3 span = to - from, tangent = (1 / norm(span)) * span;
    for (const double along : {0.0, 0.04, 0.96, 1.0}) {
      const Vec3 p = from + along * span;
      Ring ring;
      ring.centre = {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)};
      ring.radius = static_cast<float>(half_width);
      ring.tangent = {static_cast<float>(tangent.x), static_cast<float>(tangent.y), static_cast<float>(tangent.z)};
      ring.strength = along == 0.0 || along == 1.0 ? 0.0F : 0.6F;
      rings.as<Ring>()[ring_count++] = ring;
    }
    shadows.push_back({first, 4});
  };
  strip(a, middle - (0.5 * v.gap_mm) * axis, radius);
  strip(middle + (0.5 * v.gap_mm) * axis, b, radius);
  if (std::abs(axis.z) > 0.7) return;  // upright: drawn without its clamp
  // The clamp, roughly: its rail and both jaws as the mesh has them.
  const Vec3 side = cross({0, 0, 1}, axis), across = (1 / norm(side)) * side, level = cross(across, {0, 0, 1});
  Vec3 rail = middle + (2.4 * radius) * across;
  rail.z = params.bench_point_W.z + 0.5 * radius;
  const Vec3 reach = (0.5 * norm(b - a) + 0.9 * radius) * level;
  strip(rail - reach, rail + reach, 0.5 * radius);
  for (const Vec3 end : {a, b}) strip(end - (1.8 * radius) * across, end + (3.0 * radius) * across, 0.8 * radius);
}

void Renderer::State::push(std::int32_t eye, std::int32_t first, std::int32_t model, std::int32_t state) {
  const Push p{eye, first, model, state};
  device->vk.vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0,
                                sizeof p, &p);
}

void Renderer::State::bind_meshes() {
  const VkDeviceSize zero = 0;
  const VkBuffer vertex_buffer = vertices.handle();
  device->vk.vkCmdBindVertexBuffers(commands, 0, 1, &vertex_buffer, &zero);
  device->vk.vkCmdBindIndexBuffer(commands, indices.handle(), 0, VK_INDEX_TYPE_UINT32);
}

void Renderer::State::draw_mesh(std::int32_t eye, const DrawRange& range, std::int32_t model, std::int32_t state) {
  push(eye, 0, model, state);
  device->vk.vkCmdDrawIndexed(commands, range.count, 1, range.first_index, range.first_vertex, 0);
}

void Renderer::State::draw_threads(std::int32_t eye) {
  device->vk.vkCmdBindIndexBuffer(commands, tube_indices.handle(), 0, VK_INDEX_TYPE_UINT32);
  for (const RingRange& t : threads) {
    push(eye, static_cast<std::int32_t>(t.first), 0, 0);
    device->vk.vkCmdDrawIndexed(commands, (t.count - 1) * static_cast<std::uint32_t>(kTubeSides) * 6, 1, 0, 0, 0);
  }
}

void Renderer::State::draw_soft(std::int32_t eye) {
  const VkDeviceSize zero = 0;
  const VkBuffer vertex_buffer = soft_vertices.handle();
  device->vk.vkCmdBindVertexBuffers(commands, 0, 1, &vertex_buffer, &zero);
  device->vk.vkCmdBindIndexBuffer(commands, soft_indices.handle(), 0, VK_INDEX_TYPE_UINT32);
  push(eye, 0, 0, 0);
  device->vk.vkCmdDrawIndexed(commands, static_cast<std::uint32_t>(soft->indices().size()), 1, 0, 0, 0);
}

/// What the key light sees, before any eye: the tissue, and what moves over it.
void Renderer::State::record_shades(bool scene) {
  const VolkDeviceTable& vk = device->vk;
  constexpr VkPipelineStageFlags2 depth_stages =
      VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT;
  const auto bind = [&](VkPipeline pipeline) {
    vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
  };
  for (const Image* image : {&tissue_shade, &tool_shade}) {
    image_barrier(*device, commands, image->handle(), VK_IMAGE_ASPECT_DEPTH_BIT,
                  VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT, VK_ACCESS_2_NONE, depth_stages,
                  VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT,
                  VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL);
    VkRenderingAttachmentInfo depth{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    depth.imageView = image->view();
    depth.imageLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
    depth.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    depth.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    depth.clearValue.depthStencil = {1, 0};
    VkRenderingInfo rendering{VK_STRUCTURE_TYPE_RENDERING_INFO};
    rendering.renderArea = {{0, 0}, {shade_size, shade_size}};
    rendering.layerCount = 1;
    rendering.pDepthAttachment = &depth;
    vk.vkCmdBeginRendering(commands, &rendering);
    if (scene && soft && image == &tissue_shade) {
      bind(shade_soft);
      draw_soft(kLight);
    } else if (scene && soft) {
      bind(shade_tube);
      draw_threads(kLight);
      bind(shade_mesh);
      bind_meshes();
      for (std::size_t i = 0; i < kInstruments; ++i)
        if (status[i] == static_cast<int>(TrackStatus::tracked))
          draw_mesh(kLight, forceps_range[i], static_cast<std::int32_t>(3 * i), status[i]);
    }
    vk.vkCmdEndRendering(commands);
    image_barrier(*device, commands, image->handle(), VK_IMAGE_ASPECT_DEPTH_BIT, depth_stages,
                  VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT, VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                  VK_ACCESS_2_SHADER_SAMPLED_READ_BIT, VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
                  VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
  }
}

void Renderer::State::draw_scene(const Pass& pass) {
  const VolkDeviceTable& vk = device->vk;
  const auto bind = [&](VkPipeline pipeline) {
    vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
  };
  bind(bench);
  push(pass.eye, 0, 0, 0);
  vk.vkCmdDraw(commands, 4, 1, 0, 0);

  bind(shadow);
  for (const RingRange& s : shadows) {
    push(pass.eye, static_cast<std::int32_t>(s.first), 0, 0);
    vk.vkCmdDraw(commands, 2 * s.count, 1, 0, 0);
  }

  if (soft) {
    bind(soft_tissue);
    draw_soft(pass.eye);
  }
  bind(tube);
  draw_threads(pass.eye);

  bind_meshes();
  for (const DrawRange& still : {vessel_range, clamps_range})
    if (still.count > 0) {
      bind(tissue);
      draw_mesh(pass.eye, still, static_cast<std::int32_t>(kIdentityModel) - 2, 2);
    }
  constexpr int tracked = static_cast<int>(TrackStatus::tracked);
  bind(steel);
  for (std::size_t i = 0; i < kInstruments; ++i)
    if (status[i] == tracked) draw_mesh(pass.eye, forceps_range[i], static_cast<std::int32_t>(3 * i), tracked);
  // See-through instruments last, each with its nearest surface only.
  for (std::size_t i = 0; i < kInstruments; ++i) {
    if (status[i] < 0 || status[i] == tracked) continue;
    bind(ghost_depth);
    draw_mesh(pass.eye, forceps_range[i], static_cast<std::int32_t>(3 * i), status[i]);
    bind(ghost);
    draw_mesh(pass.eye, forceps_range[i], static_cast<std::int32_t>(3 * i), status[i]);
  }
}

void Renderer::State::record(bool scene, int keep) {
  const VolkDeviceTable& vk = device->vk;
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  vk.vkBeginCommandBuffer(commands, &begin);
  vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, nullptr);
  record_shades(scene);
  film.begin(commands);
  constexpr VkPipelineStageFlags2 colour_stage = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
  constexpr VkPipelineStageFlags2 depth_stages =
      VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT;
  for (const Pass& pass : passes) {
    for (const Image* image : {&pass.colour, &pass.colour_samples})
      if (*image)
        image_barrier(*device, commands, image->handle(), VK_IMAGE_ASPECT_COLOR_BIT,
                      colour_stage | VK_PIPELINE_STAGE_2_TRANSFER_BIT, VK_ACCESS_2_NONE, colour_stage,
                      VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT,
                      VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    image_barrier(*device, commands, pass.depth.handle(), VK_IMAGE_ASPECT_DEPTH_BIT, depth_stages, VK_ACCESS_2_NONE,
                  depth_stages,
                  VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT,
                  VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL);
    const bool resolve = static_cast<bool>(pass.colour_samples);
    VkRenderingAttachmentInfo colour{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    colour.imageView = resolve ? pass.colour_samples.view() : pass.colour.view();
    colour.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    colour.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    colour.storeOp = resolve ? VK_ATTACHMENT_STORE_OP_DONT_CARE : VK_ATTACHMENT_STORE_OP_STORE;
    if (resolve) {
      colour.resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT;
      colour.resolveImageView = pass.colour.view();
      colour.resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    }
    colour.clearValue.color = {{0.002F, 0.003F, 0.003F, 1}};
    VkRenderingAttachmentInfo depth{VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO};
    depth.imageView = pass.depth.view();
    depth.imageLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL;
    depth.loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    depth.storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    depth.clearValue.depthStencil = {1, 0};
    VkRenderingInfo rendering{VK_STRUCTURE_TYPE_RENDERING_INFO};
    rendering.renderArea = {{0, 0}, {eyes.width, eyes.height}};
    rendering.layerCount = 1;
    rendering.viewMask = pass.view_mask;
    rendering.colorAttachmentCount = 1;
    rendering.pColorAttachments = &colour;
    rendering.pDepthAttachment = &depth;
    vk.vkCmdBeginRendering(commands, &rendering);
    if (scene) draw_scene(pass);
    if (mark_count > 0) {
      vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, mark);
      push(pass.eye, 0, 0, 0);
      vk.vkCmdDraw(commands, 4, mark_count, 0, 0);
    }
    vk.vkCmdEndRendering(commands);
    image_barrier(*device, commands, pass.colour.handle(), VK_IMAGE_ASPECT_COLOR_BIT, colour_stage,
                  VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT, VK_PIPELINE_STAGE_2_TRANSFER_BIT,
                  VK_ACCESS_2_TRANSFER_READ_BIT, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                  VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
  }
  presenter->record(commands, eyes);
  if (keep >= 0) film.keep(commands, eyes, static_cast<std::uint32_t>(keep));
  vk.vkEndCommandBuffer(commands);
}

Outcome Renderer::State::frame(const SceneSnapshot* scene, const Words& words) noexcept {
  timing.begin_ns = timing.submit_ns = timing.complete_ns = now_ns();
  if (lost) return Outcome::lost;
  if (params.presenter == "none") return Outcome::presented;
  const auto give_up = [this] {
    lost = true;
    return Outcome::lost;
  };
  VkResult r = presenter->acquire();
  if (r == VK_NOT_READY) return Outcome::presented;
  if (r != VK_SUCCESS) return give_up();

  const int keep = words.keep < static_cast<int>(kFilmFrames) ? words.keep : -1;
  Overlay overlay(marks.as<Mark>(), kMaxMarks);
  if (scene != nullptr) {
    write_scene(*scene);
    // What is kept is the scene alone.
    const bool said = keep < 0;
    if (params.status_overlay && said)
      draw_status(overlay, *scene, words.message, params.eye_width_px, params.eye_height_px);
    if (words.sheet != nullptr && !words.sheet->empty() && said)
      draw_sheet(overlay, *words.sheet, film.kept_bits(), params.eye_width_px, params.eye_height_px);
  } else {
    write_scene(SceneSnapshot{});
    const MicroscopeParams& m = params.microscope;
    const double shown = optics.disparity_px(m.convergence_mm - 0.1 * std::min(m.convergence_mm, m.distance_mm));
    draw_test_picture(overlay, params.eye_width_px, params.eye_height_px, static_cast<float>(shown));
  }
  mark_count = static_cast<std::uint32_t>(overlay.size());

  const VolkDeviceTable& vk = device->vk;
  r = vk.vkResetCommandPool(device->handle, command_pool, 0);
  if (r != VK_SUCCESS) return give_up();
  record(scene != nullptr, keep);

  VkCommandBufferSubmitInfo command_info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO};
  command_info.commandBuffer = commands;
  VkSemaphoreSubmitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO}, signal = wait;
  wait.semaphore = presenter->wait_before_transfer();
  wait.stageMask = VK_PIPELINE_STAGE_2_TRANSFER_BIT;
  signal.semaphore = presenter->signal_when_done();
  signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  VkSubmitInfo2 submit{VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
  submit.commandBufferInfoCount = 1;
  submit.pCommandBufferInfos = &command_info;
  submit.waitSemaphoreInfoCount = wait.semaphore != VK_NULL_HANDLE;
  submit.pWaitSemaphoreInfos = &wait;
  submit.signalSemaphoreInfoCount = signal.semaphore != VK_NULL_HANDLE;
  submit.pSignalSemaphoreInfos = &signal;
  timing.submit_ns = now_ns();
  r = vk.vkQueueSubmit2(device->queue, 1, &submit, fence);
  if (r == VK_SUCCESS) r = vk.vkWaitForFences(device->handle, 1, &fence, VK_TRUE, timeout_ns);
  if (r == VK_SUCCESS) r = vk.vkResetFences(device->handle, 1, &fence);
  if (r == VK_SUCCESS) r = presenter->finish();
  if (r == VK_SUCCESS && keep >= 0) r = film.finish();
  timing.complete_ns = now_ns();
  return r == VK_SUCCESS ? Outcome::presented : give_up();
}

Renderer::Renderer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Renderer::~Renderer() = default;

Result<std::unique_ptr<Renderer>> Renderer::create(const RenderParams& params, std::string version_line) {
  if (auto r = check(params); !r) return unexpected(r.error());
  auto state = std::make_unique<State>(params, std::move(version_line));
  if (auto r = state->open(); !r) return unexpected(r.error());
  // The driver compiles a pipeline at its first draw: draw everything once, here.
  auto warm_up = std::make_unique<SceneSnapshot>();
  warm_up->vertices.push_back({0, 0, 1});
  warm_up->vertices.push_back({1, 0, 1});
  warm_up->threads.push_back({0, 2, 0.1F, false});
  for (std::size_t i = 0; i < kInstruments; ++i) {
    warm_up->forceps[i].status = i == 0 ? TrackStatus::tracked : TrackStatus::predicted;
    warm_up->forceps[i].X_WT.p = {0, 0, 5};
  }
  if (state->frame(warm_up.get(), {.message = "-"}) == Outcome::lost)
    return unavailable("the Vulkan device " + state->info.device + " fails at its first picture: set device = \"cpu\"");
  if (state->device && !state->device->is_cpu) state->timeout_ns = kFrameTimeout_ns;
  return std::unique_ptr<Renderer>(new Renderer(std::move(state)));
}

Outcome Renderer::render(const SceneSnapshot& scene, const Words& words) noexcept {
  return state_->frame(&scene, words);
}
PictureView Renderer::kept(std::size_t frame, Eye eye) const {
  return frame < kFilmFrames && state_->film.kept(frame) ? state_->film.picture(frame, static_cast<std::size_t>(eye))
                                                         : PictureView{};
}
Outcome Renderer::render_test_picture() noexcept {
  return state_->frame(nullptr, {});
}
PictureView Renderer::picture() const {
  return state_->presenter ? state_->presenter->picture() : PictureView{};
}
const FrameTiming& Renderer::timing() const {
  return state_->timing;
}
const RendererInfo& Renderer::info() const {
  return state_->info;
}
const std::string& Renderer::version_line() const {
  return state_->version;
}
const Optics& Renderer::optics() const {
  return state_->optics;
}
unsigned Renderer::take_keys() {
  return state_->presenter ? state_->presenter->take_keys() : 0;
}

bool Renderer::close_requested() const {
  return state_->presenter && state_->presenter->close_requested();
}
std::uint64_t Renderer::validation_messages() const {
  return state_->device ? state_->device->validation.count.load() : 0;
}
std::string Renderer::first_validation_message() const {
  return state_->device ? state_->device->validation.first : "";
}
void Renderer::inject_lost() {
  state_->lost = true;
}

Result<void> Renderer::set_microscope(const MicroscopeParams& microscope) {
  RenderParams changed = state_->params;
  changed.microscope = microscope;
  if (auto r = check(changed); !r) return r;
  state_->params.microscope = microscope;
  state_->optics = Optics(microscope, changed.eye_width_px, changed.eye_height_px);
  return {};
}

}  // namespace ligature::render
