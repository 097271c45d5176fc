#include "training/resume.hpp"

#include "core/config/config.hpp"
#include "core/config/data_sets.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/normalization.hpp"
#include "metrics/report/run_folder.hpp"
#include "nn/models/families.hpp"
#include "training/model_card.hpp"
#include "training/pretrained/pretrained.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::training {

namespace {

namespace fs = std::filesystem;

/// The only key of a checkpoint's metadata that may differ: parameters and state are always fp32.
constexpr const char* precision_key = "precision";
/// Missing from checkpoints of earlier versions, which always shuffled.
constexpr const char* shuffle_key = "shuffle";
/// Key that earlier versions wrote for images instead of "normalization" (data_identity.hpp).
/// Checkpoints that lack this key too used the default normalization.
constexpr const char* earlier_normalization_key = "pixel_normalization";

/// Returns the value that a missing key stands for: the checkpoint was written by an earlier
/// version of this program or of the model. Returns nothing if the key is required.
std::optional<std::string> unsaid(const std::string& key, const Config& config) {
  if (key == shuffle_key)
    return "true";
  if (key == earlier_normalization_key)
    return data::to_string(data::default_normalization(config.data.dataset));
  auto fresh = nn::untouched(config.model);
  fresh.name = config.model.name;
  const auto default_value = nn::custom_settings(fresh);
  const auto found = default_value.find(key);
  return found == default_value.end() ? std::nullopt : std::optional{found->second};
}

/// Returns the metadata that a checkpoint must have for a run of this config to resume from it.
std::map<std::string, std::string> expected_of(const CheckpointHeader& checkpoint,
                                               const Config& config) {
  auto expected = checkpoint_metadata(config);
  expected.erase(precision_key);
  if (!checkpoint.metadata.contains(normalization_key) &&
      traits_of_data(config.data).sample == SampleKind::image)
    expected.emplace(earlier_normalization_key,
                     data::to_string(data::normalization_of(config.data)));
  return expected;
}

/// Refuses a checkpoint whose recorded values differ: the resumed run would be neither the old run
/// nor the new one.
Status check_same_run(const ResumePoint& resume_point, const Config& config) {
  constexpr std::string_view way_out = "to start over, set checkpoint.resume to never (the earlier "
                                       "run is kept), or choose another run.name";
  const auto& checkpoint = resume_point.state->header();
  for (const auto& [key, value] : expected_of(checkpoint, config)) {
    const auto found = checkpoint.metadata.find(key);
    const auto said =
        found == checkpoint.metadata.end() ? unsaid(key, config) : std::optional{found->second};
    if (!said)
      return fail(Errc::invalid_input,
                  "{}: its metadata lacks the {}, so no run can resume from this checkpoint; {}",
                  escaped(resume_point.path.string()), key, way_out);
    if (*said != value)
      return fail(Errc::invalid_input,
                  "the checkpoint of step {} was made with {} {}, but the config has {}; {}",
                  checkpoint.step, key, echoed(*said), echoed(value), way_out);
  }
  return {};
}

void note_precision(ResumePoint& resume_point, std::string_view mode) {
  const auto& header = resume_point.state->header();
  if (const auto before = header.metadata.find(precision_key);
      before != header.metadata.end() && before->second != mode)
    resume_point.notes.push_back(
        fmt::format("the checkpoint of step {} was trained in {}; continuing in {}", header.step,
                    before->second, mode));
}

} // namespace

std::map<std::string, std::string> checkpoint_metadata(const Config& config) {
  auto metadata = nn::custom_settings(config.model);
  metadata.merge(std::map<std::string, std::string>{
      {"model", config.model.name},
      {"dataset", config.data.dataset},
      {"batch_size", std::to_string(config.data.batch_size)},
      {"seed", std::to_string(config.run.seed)},
      {"optimizer", std::string{to_string(config.train.optimizer.name)}},
      {shuffle_key, fmt::format("{}", config.data.shuffle)},
      {precision_key, std::string{to_string(config.precision.mode)}}});
  return metadata;
}

fs::path run_folder(const Config& config) {
  return fs::path{config.run.output} / config.run.name;
}

ResumePoint find_newest(const fs::path& folder, Verify verify) {
  ResumePoint resume_point;
  auto newest = CheckpointStore{folder / "checkpoints"}.newest_valid(verify);
  for (const auto& skipped : newest.skipped)
    resume_point.notes.push_back(fmt::format("skipped: {}", skipped.to_string()));
  if (newest.entry) {
    resume_point.state = std::move(newest.state);
    resume_point.path = newest.entry->path;
  }
  return resume_point;
}

Result<ResumePoint> find_resume_point(const Config& config, const fs::path& folder) {
  TROUPE_TRY(metrics::check_no_other_files(folder));
  ResumePoint resume_point;
  const auto& resume = config.checkpoint.resume;
  if (resume.kind == ResumeConfig::Kind::never) {
    TROUPE_TRY(metrics::check_unwritten(folder));
  } else if (resume.kind == ResumeConfig::Kind::automatic) {
    resume_point = find_newest(folder);
  } else {
    auto state = open_state(resume.path);
    if (!state)
      return fail(Errc::invalid_input, "checkpoint.resume: {}", state.error().message);
    resume_point = {.state = *std::move(state), .path = resume.path, .notes = {}};
  }
  if (resume_point.state) {
    TROUPE_TRY(check_same_run(resume_point, config));
    note_precision(resume_point, to_string(config.precision.mode));
    return resume_point;
  }
  if (config.model.pretrained) {
    TROUPE_TRY(auto pretrained, open_pretrained(config));
    resume_point.state = std::move(pretrained.state);
    std::ranges::move(pretrained.notes, std::back_inserter(resume_point.notes));
  }
  return resume_point;
}

} // namespace troupe::training
