#include "config/store/schema.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "config/rig_file.hpp"
#include "config/scenario_file.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::store {

namespace fs = std::filesystem;
using config::KeyRecorder;
using config::KnownKey;

namespace {

struct Explained {
  Part part;
  std::string_view key, help;
  bool live = false;
};

constexpr Part P = Part::profile, R = Part::rig;
constexpr std::array kExplained{
    Explained{P, "title", "what the report calls this configuration", true},
    Explained{P, "pace", "lockstep waits for every sample, realtime never waits"},
    Explained{P, "sample_delay_ms", "a step uses the newest sample exposed so long ago or earlier"},
    Explained{P, "duration_s", "a session's length"},
    Explained{P, "scenario", "the scene that is played"},
    Explained{P, "next", "exercises that come after it"},
    Explained{P, "next.scenario", "the scene that is played then"},
    Explained{P, "cameras", "where the images come from"},
    Explained{P, "cameras.source", "kind of cameras"},
    Explained{P, "cameras.directory", "a recording, with C0..C3"},
    Explained{P, "cameras.rate_hz", "images a second of devices, the virtual rig, and recordings that do not say"},
    Explained{P, "cameras.format", "v4l2: how devices send their pixels; the size is the rig's"},
    Explained{P, "cameras.exposure_ms", "v4l2: locked and read back; at most the frame period"},
    Explained{P, "cameras.gain", "v4l2: the device's own units; not set: left as it is"},
    Explained{P, "cameras.white_balance_k", "v4l2: colour temperature; not set: left as it is"},
    Explained{P, "cameras.red_balance", "v4l2: the device's own units, where it knows no temperature"},
    Explained{P, "cameras.blue_balance", "v4l2: the device's own units, where it knows no temperature"},
    Explained{P, "cameras.readout_ms", "v4l2: end of exposure to last byte"},
    Explained{P, "cameras.stamp", "v4l2: the moment that a device's time stamp tells"},
    Explained{P, "cameras.shutter", "v4l2: rolling takes the middle row's time"},
    Explained{P, "cameras.buffers", "v4l2: images between the driver and us"},
    Explained{P, "cameras.max_skew_ms", "v4l2: images of a trigger further apart are not used together"},
    Explained{P, "cameras.device", "v4l2: which device a camera is, and what it has otherwise than all"},
    Explained{P, "cameras.device.serial", "of the USB device: `ligature doctor --cameras` lists it"},
    Explained{P, "cameras.device.path",
              "USB port such as 1-2.3, or the driver's name of the place; stays, /dev/videoN does not"},
    Explained{P, "cameras.device.format", "of this camera alone"},
    Explained{P, "cameras.device.exposure_ms", "of this camera alone"},
    Explained{P, "cameras.device.gain", "of this camera alone, the device's own units"},
    Explained{P, "cameras.device.white_balance_k", "of this camera alone"},
    Explained{P, "cameras.device.red_balance", "of this camera alone"},
    Explained{P, "cameras.device.blue_balance", "of this camera alone"},
    Explained{P, "cameras.device.readout_ms", "of this camera alone"},
    Explained{P, "cameras.device.stamp", "of this camera alone"},
    Explained{P, "cameras.device.shutter", "of this camera alone"},
    Explained{P, "cameras.device.buffers", "of this camera alone"},
    Explained{P, "virtual", "the virtual rig: images computed instead of captured"},
    Explained{P, "virtual.path_left", "CSV of the left hand's poses"},
    Explained{P, "virtual.path_right", "CSV of the right hand's poses"},
    Explained{P, "virtual.seed", "of noise and tremor"},
    Explained{P, "virtual.noise", "standard deviation of a pixel, of full scale"},
    Explained{P, "virtual.exposure_ms", "at most the frame period"},
    Explained{P, "virtual.brightness", "of a fully lit marker, of full scale"},
    Explained{P, "virtual.tremor_um", "RMS of the hand's tremor at the tip"},
    Explained{P, "virtual.readout_ms", "end of exposure to delivery"},
    Explained{P, "virtual.saturation", "of the markers' colours"},
    Explained{P, "virtual.velvet", "level of the background, of full scale"},
    Explained{P, "virtual.shot_noise", "photon noise of a full-scale pixel, of full scale"},
    Explained{P, "virtual.defocus_px", "standard deviation of the lens's blur"},
    Explained{P, "virtual.highlight", "white reflection of the lamp on each marker, of full scale"},
    Explained{P, "virtual.white_balance", "gain of red, green, blue"},
    Explained{P, "virtual.skew_ms", "each camera's trigger after the common one"},
    Explained{P, "virtual.bodies", "the forceps' dark arms are seen, and hide markers"},
    Explained{P, "virtual.bayer", "a sensor with one colour per pixel"},
    Explained{P, "virtual.jpeg_quality", "sends every image through JPEG; 0 does not"},
    Explained{P, "world", "where the scene lies in the box, where the rig's place does not suit it"},
    Explained{P, "world.p_RW_mm", "of the scene's origin; wins over the rig's"},
    Explained{P, "world.motion_scale", "world travel per travel of the hand; wins over the rig's"},
    Explained{P, "tracking", "from markers to forceps"},
    Explained{P, "tracking.timeout_ms", "after a trigger's first image: go on with the cameras that came", true},
    Explained{P, "tracking.prediction_ms", "a hidden instrument is carried on for so long, then it is lost", true},
    Explained{P, "tracking.filter", "hands of physics and picture are steadied; the log keeps the raw poses"},
    Explained{P, "tracking.max_lead_ms",
              "how far the steadied hands run ahead of the newest images, to make up for delay"},
    Explained{P, "physics", "how the world is stepped"},
    Explained{P, "physics.step_ms", "wins over the scenario's"},
    Explained{P, "render", "how the picture is made"},
    Explained{P, "render.presenter", "where the picture goes"},
    Explained{P, "render.eye_width_px", "of one eye's picture"},
    Explained{P, "render.eye_height_px", "of one eye's picture"},
    Explained{P, "render.samples", "multisampling: 1, 2, 4, 8 or 16"},
    Explained{P, "render.device", "auto takes a GPU when there is one"},
    Explained{P, "render.validation", "Khronos validation layer, for drills"},
    Explained{P, "render.rate_hz", "pictures a second"},
    Explained{P, "render.bench_point_mm", "where the bench is drawn"},
    Explained{P, "microscope", "what the trainee looks through"},
    Explained{P, "microscope.target_mm", "what it looks at, in the world", true},
    Explained{P, "microscope.distance_mm", "working distance, to the mid-point between the eyes", true},
    Explained{P, "microscope.elevation_deg", "above the bench; 90 looks straight down", true},
    Explained{P, "microscope.azimuth_deg", "0 looks along +y", true},
    Explained{P, "microscope.field_of_view_mm", "height of the picture at the target: the zoom", true},
    Explained{P, "microscope.eye_separation_mm", "distance between the two entrance pupils", true},
    Explained{P, "microscope.convergence_mm", "to the plane of zero parallax", true},
    Explained{P, "vessel", "the drawn vessel"},
    Explained{P, "vessel.present", "whether it is drawn"},
    Explained{P, "vessel.from_mm", "one end of its axis"},
    Explained{P, "vessel.to_mm", "the other end"},
    Explained{P, "vessel.diameter_mm", "outside"},
    Explained{P, "vessel.gap_mm", "between its cut ends"},
    Explained{P, "thread", "policy and core of a thread of the program"},
    Explained{P, "thread.policy", "fifo is real time"},
    Explained{P, "thread.priority", "of fifo; higher runs first, physics wants the highest"},
    Explained{P, "thread.core", "-1 does not pin it"},
    Explained{P, "memory", "of the process"},
    Explained{P, "memory.lock", "lock and touch all memory at the start"},
    Explained{P, "output", "what is written"},
    Explained{P, "output.directory", "folder of a session's results"},
    Explained{P, "output.video", "side by side MP4"},
    Explained{P, "output.picture_times_s", "session times of stereo PNGs, growing"},
    Explained{P, "output.record_frames", "save what the cameras saw"},
    Explained{P, "output.codec", "of what the cameras saw; ffv1 and png are tracked as live, and take their time"},
    Explained{P, "output.keep_sessions", "so many sessions' folders are kept; the oldest go when one begins"},
    Explained{P, "output.keep_gb", "what the sessions before the new one may hold together"},
    Explained{P, "fault", "faults put in on purpose"},
    Explained{R, "rig", "the box and when it was calibrated"},
    Explained{R, "rig.created", "when it was calibrated"},
    Explained{R, "rig.box_mm", "inside: width, depth, height"},
    Explained{R, "world", "where the scene lies in the box"},
    Explained{R, "world.q_RW", "x y z w: turns the world's axes into the rig's"},
    Explained{R, "world.p_RW_mm", "the world's origin in the rig"},
    Explained{R, "world.motion_scale", "motion in the world over motion of the hand"},
    Explained{R, "camera", "one of the four cameras"},
    Explained{R, "camera.serial", "which device it is"},
    Explained{R, "camera.size_px", "width and height of its images"},
    Explained{R, "camera.fx_px", "focal length"},
    Explained{R, "camera.fy_px", "focal length"},
    Explained{R, "camera.cx_px", "principal point; pixel centres at integers"},
    Explained{R, "camera.cy_px", "principal point; pixel centres at integers"},
    Explained{R, "camera.distortion", "k1 k2 p1 p2 k3 of OpenCV's model"},
    Explained{R, "camera.q_RC", "x y z w: turns camera axes into the rig's"},
    Explained{R, "camera.p_RC_mm", "its place in the rig"},
    Explained{R, "camera.reprojection_rms_px", "what its calibration left"},
    Explained{R, "instrument", "a forceps"},
    Explained{R, "instrument.hinge_p_T_mm", "where the arms meet, in the forceps' frame"},
    Explained{R, "instrument.marker", "a coloured ball on it"},
    Explained{R, "instrument.marker.colour_hue_deg", "0 red, 120 green, 240 blue"},
    Explained{R, "instrument.marker.diameter_mm", "of the ball"},
    Explained{R, "instrument.marker.p_TM_mm", "its centre in the forceps' frame, jaws closed"},
    Explained{R, "instrument.marker.arm", "which arm it turns with"},
};

const Explained* explained(Part part, std::string_view key) {
  const auto at = std::find_if(kExplained.begin(), kExplained.end(),
                               [&](const Explained& e) { return e.part == part && e.key == key; });
  return at == kExplained.end() ? nullptr : &*at;
}

std::size_t index(Part part) {
  return static_cast<std::size_t>(part);
}

/// "profile:41" for the line: what `show configuration` numbers, not a file that the reader cannot see.
std::string placed(Part part, int line, const std::string& text) {
  return name_of(part) + ":" + std::to_string(line) + ": " + text;
}

/// The loaders' error lines begin with the file; ours with the part.
std::string without_file(const std::string& message, const std::string& file, Part part) {
  return message.starts_with(file) ? name_of(part) + message.substr(file.size()) : message;
}

template <class Load>
auto read_part(Part part, const fs::path& file, Judgement& judgement, Load&& load) {
  KeyRecorder recorder;
  auto loaded = load();
  for (const auto& issue : recorder.issues)
    judgement.problems.push_back({part, issue.key, placed(part, issue.line, issue.text)});
  if (!loaded && recorder.issues.empty())
    judgement.problems.push_back({part, "", without_file(loaded.error().message, file.string(), part)});
  return loaded;
}

std::vector<std::string> split_choice(const std::string& must) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= must.size()) {
    const auto bar = must.find(" | ", from);
    out.push_back(must.substr(from, bar == std::string::npos ? bar : bar - from));
    if (bar == std::string::npos) break;
    from = bar + 3;
  }
  return out;
}

bool sane_name(const std::string& word) {
  return !word.empty() && word.size() <= 40 && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

}  // namespace

std::string name_of(Part part) {
  return part == Part::profile ? "profile" : "rig";
}

bool is_live(Part part, std::string_view dotted) {
  const Explained* e = explained(part, dotted);
  return e && e->live;
}

bool is_for_admins(Part part, std::string_view dotted) {
  return part == Part::profile &&
         (dotted.starts_with("thread") || dotted.starts_with("memory") || dotted.starts_with("fault"));
}

std::string_view help_of(Part part, std::string_view dotted) {
  const Explained* e = explained(part, dotted);
  return e ? e->help : std::string_view();
}

Judgement judge(const Texts& texts, const fs::path& folder, bool scenario) {
  Judgement j;
  const fs::path profile_file = folder / "profile.toml", rig_file = folder / kRigFile;
  const auto profile =
      read_part(Part::profile, profile_file, j, [&] { return config::parse_profile(texts.profile, profile_file); });
  const auto rig = read_part(Part::rig, rig_file, j, [&] { return config::parse_rig(texts.rig, rig_file); });
  if (profile && profile->rig.lexically_normal() != rig_file.lexically_normal())
    j.problems.push_back({Part::profile, "rig",
                          "profile:1: key 'rig' is another file, must be \"rig.toml\": this configuration holds its "
                          "rig itself, set rig ..."});
  if (profile && scenario)
    if (const auto scene = config::load_scenario(profile->scenario, kMaxSnapshotVertices); !scene)
      j.problems.push_back({Part::profile, "scenario", scene.error().message});
  if (profile && scenario)
    for (const fs::path& next : profile->next_scenarios)
      if (const auto scene = config::load_scenario(next, kMaxSnapshotVertices); !scene)
        j.problems.push_back({Part::profile, "next", scene.error().message});
  if (profile) j.profile = *profile;
  if (rig) j.rig = *rig;
  if (!j.good()) j.profile.reset(), j.rig.reset();
  return j;
}

Result<Texts> import_profile(const fs::path& file) {
  std::error_code wrong;
  const fs::path absolute = fs::absolute(file, wrong).lexically_normal();
  auto text = config::read_file(absolute, config::kMaxTomlBytes);
  if (!text) return unexpected(text.error());
  KeyRecorder recorder;
  const auto profile = config::parse_profile(*text, absolute);
  if (!profile) return unexpected(profile.error());
  auto tree = Tree::parse(*text, absolute.string());
  if (!tree) return unexpected(tree.error());
  std::vector<std::string> order;
  for (const KnownKey& key : recorder.keys) order.push_back(key.path);
  for (const Tree::Line& line : tree->lines({})) {
    const auto known = std::find_if(recorder.keys.begin(), recorder.keys.end(),
                                    [&](const KnownKey& k) { return k.path == dotted(line.path); });
    if (known == recorder.keys.end() || known->kind != KnownKey::Kind::path || line.value.size() < 2) continue;
    // A path is a string without escapes, or it would not have been found.
    const fs::path named = line.value.substr(1, line.value.size() - 2);
    const fs::path from = (absolute.parent_path() / named).lexically_normal();
    if (auto set = tree->set(line.path, toml_string(from.string())); !set) return unexpected(set.error());
  }
  if (auto set = tree->set({{"rig", std::nullopt}}, toml_string(kRigFile)); !set) return unexpected(set.error());
  const auto rig = config::load_rig(profile->rig);
  if (!rig) return unexpected(rig.error());
  auto rig_text = config::read_file(profile->rig, config::kMaxTomlBytes);
  if (!rig_text) return unexpected(rig_text.error());
  auto rig_tree = Tree::parse(*rig_text, profile->rig.string());
  if (!rig_tree) return unexpected(rig_tree.error());
  std::vector<std::string> rig_order;
  {
    KeyRecorder rig_keys;
    (void)config::parse_rig(*rig_text, profile->rig);
    for (const KnownKey& key : rig_keys.keys) rig_order.push_back(key.path);
  }
  return Texts{tree->text(order), rig_tree->text(rig_order)};
}

namespace {

/// What to show a loader so that it asks for all it knows: the text as it is, and a profile once more with devices for
/// cameras, whose keys no other source has.
std::vector<std::string> lessons(Part part, const std::string& text) {
  std::vector<std::string> out{text};
  auto tree = Tree::parse(text, name_of(part));
  if (part != Part::profile || !tree) return out;
  const bool devices = tree->set({{"cameras", std::nullopt}, {"source", std::nullopt}}, "\"v4l2\"") &&
                       tree->set({{"pace", std::nullopt}}, "\"realtime\"");
  if (!devices) return out;
  out.push_back(tree->text({}));
  if (tree->items({{"cameras", std::nullopt}, {"device", std::nullopt}}).empty())
    out.back() += "\n[[cameras.device]]\nname = \"C0\"\n";
  return out;
}

}  // namespace

Schema Schema::learn(const Texts& texts, const fs::path& folder) {
  Schema schema;
  for (const Part part : {Part::profile, Part::rig}) {
    auto& keys = schema.keys_[index(part)];
    const fs::path file = folder / (part == Part::profile ? "profile.toml" : kRigFile);
    for (std::string& text : lessons(part, part == Part::profile ? texts.profile : texts.rig)) {
      std::set<std::string> tried;
      for (int round = 0; round < 3; ++round) {
        KeyRecorder recorder;
        if (part == Part::profile)
          (void)config::parse_profile(text, file);
        else
          (void)config::parse_rig(text, file);
        bool more = false;
        for (KnownKey& key : recorder.keys) {
          const bool is_list = key.kind == KnownKey::Kind::tables;
          const std::string head = "\n[[" + key.path + "]]\n";
          if (is_list && key.path.find('.') == std::string::npos && text.find(head.substr(1)) == std::string::npos &&
              tried.insert(key.path).second) {
            text += head;
            more = true;
          }
          const auto seen =
              std::find_if(keys.begin(), keys.end(), [&](const KnownKey& k) { return k.path == key.path; });
          if (seen == keys.end())
            keys.push_back(std::move(key));
          else if (seen->kind == KnownKey::Kind::unknown)
            *seen = std::move(key);
        }
        if (!more) break;
      }
    }
    for (const KnownKey& key : keys) schema.order_[index(part)].push_back(key.path);
  }
  return schema;
}

const KnownKey* Schema::find(Part part, std::string_view dotted) const {
  const auto& keys = keys_[index(part)];
  const auto at = std::find_if(keys.begin(), keys.end(), [&](const KnownKey& k) { return k.path == dotted; });
  return at == keys.end() ? nullptr : &*at;
}

std::vector<Choice> Schema::children(Part part, const std::string& above, const Tree& tree, const Path& path) const {
  std::vector<Choice> out;
  const std::string prefix = above.empty() ? "" : above + ".";
  for (const KnownKey& key : keys_[index(part)]) {
    if (!key.path.starts_with(prefix)) continue;
    const std::string rest = key.path.substr(prefix.size());
    if (rest.empty() || rest.find('.') != std::string::npos) continue;
    if (part == Part::profile && key.path == "rig") continue;  // held by the other part
    out.push_back({rest, describe(part, key)});
  }
  for (const std::string& key : tree.keys(path))  // what a loader refuses must at least be deletable
    if (!find(part, prefix + key)) out.push_back({key, "unknown: delete it"});
  return out;
}

Walk Schema::walk(const std::vector<std::string>& words, const Tree& profile, const Tree& rig, bool add) const {
  Walk w;
  const auto pick = [&](const std::string& word, const std::vector<Choice>& choices) -> std::optional<std::string> {
    std::vector<std::string> fits;
    for (const Choice& c : choices) {
      if (c.word == word) return c.word;
      if (!word.empty() && c.word.starts_with(word)) fits.push_back(c.word);
    }
    if (fits.size() == 1) return fits.front();
    if (fits.size() > 1) {
      w.error = "'" + word + "' is ambiguous:";
      for (const auto& f : fits) w.error += " " + f;
    }
    return std::nullopt;
  };
  const auto unknown = [&](const std::string& word) {
    if (!w.error.empty()) return;
    w.error = "'" + word.substr(0, 60) + "' is unknown here, one of:";
    std::size_t shown = 0;
    for (const Choice& c : w.choices) {
      if (++shown > 24) {
        w.error += " ...";
        break;
      }
      w.error += " " + c.word;
    }
  };

  w.choices = {{"profile", "how the appliance runs"}, {"rig", "cameras, markers, place of the scene"}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const Tree* tree = w.part == Part::profile ? &profile : &rig;
    if (!w.part_named) {
      const auto name = pick(word, w.choices);
      if (!name) {
        unknown(word);
        return w;
      }
      w.part = *name == "profile" ? Part::profile : Part::rig;
      w.part_named = true;
      w.words.push_back(*name);
      tree = w.part == Part::profile ? &profile : &rig;
    } else if (w.list) {
      auto name = pick(word, w.choices);
      const KnownKey* names = find(w.part, dotted(w.path) + ".name");
      const bool free = !names || names->kind != KnownKey::Kind::choice;
      if (!name && add && free && w.error.empty() && sane_name(word)) name = word;
      if (!name) {
        unknown(word);
        return w;
      }
      w.path.back().item = *name;
      w.list = false;
      w.words.push_back(*name);
    } else {
      const auto name = pick(word, w.choices);
      if (!name) {
        unknown(word);
        return w;
      }
      w.path.push_back({*name, std::nullopt});
      w.words.push_back(*name);
      const KnownKey* key = find(w.part, dotted(w.path));
      w.list = key ? key->kind == KnownKey::Kind::tables : !tree->items(w.path).empty();
      const bool table =
          key ? key->kind == KnownKey::Kind::table : !w.list && !tree->value(w.path) && tree->has(w.path);
      if (!w.list && !table) {
        static const KnownKey kUnknown{};
        w.value = key ? key : &kUnknown;
      }
    }
    w.used = i + 1;
    if (w.value) {
      w.choices.clear();
      if (w.value->kind == KnownKey::Kind::choice)
        for (const auto& c : split_choice(w.value->must)) w.choices.push_back({c, ""});
      if (w.value->kind == KnownKey::Kind::boolean) w.choices = {{"true", ""}, {"false", ""}};
      return w;
    }
    w.choices.clear();
    if (w.list) {
      std::vector<std::string> names = tree->items(w.path);
      for (const auto& n : names) w.choices.push_back({n, "is there"});
      if (add) {
        const KnownKey* name = find(w.part, dotted(w.path) + ".name");
        if (name && name->kind == KnownKey::Kind::choice)
          for (const auto& n : split_choice(name->must))
            if (std::find(names.begin(), names.end(), n) == names.end()) w.choices.push_back({n, "a new one"});
        if (!name) w.choices.push_back({std::to_string(names.size()), "a new one"});
      }
    } else {
      w.choices = children(w.part, dotted(w.path), *tree, w.path);
    }
  }
  return w;
}

std::string Schema::describe(Part part, const KnownKey& key) const {
  std::string out(help_of(part, key.path));
  const bool value = key.kind != KnownKey::Kind::table && key.kind != KnownKey::Kind::tables;
  if (!value) return out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (!key.must.empty()) add(key.must);
  if (!key.fallback.empty()) add("default " + key.fallback);
  if (key.needed) add("needed");
  if (is_live(part, key.path)) add("takes effect at once");
  if (is_for_admins(part, key.path)) add("admin");
  return out;
}

std::string Schema::as_value(const KnownKey& key, const std::vector<std::string>& words, bool was_quoted) const {
  using Kind = KnownKey::Kind;
  std::string joined;
  for (const auto& word : words) joined += (joined.empty() ? "" : " ") + word;
  if (key.kind == Kind::text || key.kind == Kind::choice || key.kind == Kind::path) return toml_string(joined);
  if (key.kind == Kind::numbers && !joined.starts_with("[")) {
    std::string list;
    for (const auto& word : words) list += (list.empty() ? "" : ", ") + word;
    return "[" + list + "]";
  }
  if (key.kind == Kind::number && joined.find_first_not_of("+-0123456789") == std::string::npos && !joined.empty() &&
      joined.back() >= '0' && joined.back() <= '9')
    return joined + ".0";  // as the shipped files have it, and as it is compared
  if (key.kind == Kind::unknown && was_quoted) return toml_string(joined);
  if (key.kind == Kind::unknown && words.size() == 1) {
    const bool looks_like_text = joined.find_first_not_of("0123456789+-.eE[]{}\"'") != std::string::npos &&
                                 joined != "true" && joined != "false" && joined.find('[') == std::string::npos;
    if (looks_like_text) return toml_string(joined);
  }
  return joined;
}

}  // namespace ligature::store
