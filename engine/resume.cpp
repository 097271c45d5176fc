#include "resume.hpp"

#include "pretrained/pretrained.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/config/data_sets.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/net/descriptor.hpp"
#include "troupe/core/printable.hpp"
#include "troupe/data/normalization.hpp"
#include "troupe/nn/initialize.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fcntl.h>
#include <sys/file.h>

namespace troupe::engine {

namespace {

namespace fs = std::filesystem;

/// The one key of a checkpoint's metadata that may differ: parameters and state are always fp32.
constexpr const char* precision_key = "precision";
/// Checkpoints of earlier versions, which always shuffled and normalized as is usual, lack these
/// keys.
constexpr const char* shuffle_key = "shuffle";
constexpr const char* normalization_key = "normalization";

std::string to_text(bool value) {
  return value ? "true" : "false";
}

/// What a checkpoint of an earlier version would say; empty: it had the key.
std::string usual_value(std::string_view key, const Config& config) {
  if (key == shuffle_key)
    return to_text(true);
  return key == normalization_key ? data::to_string(data::usual_normalization(config.data.dataset))
                                  : "";
}

/// A run that went on with other values of these would be neither the old run nor the new one.
Status check_same_run(const Beginning& beginning, const Config& config) {
  constexpr std::string_view way_out =
      "set checkpoint.resume to never to begin afresh (the earlier "
      "run is kept), or choose another run.name";
  const auto& checkpoint = *beginning.checkpoint;
  for (const auto& [key, value] : checkpoint_metadata(config)) {
    if (key == precision_key)
      continue;
    const auto found = checkpoint.metadata.find(key);
    const bool is_said = found != checkpoint.metadata.end();
    const auto usual = usual_value(key, config);
    if (!is_said && usual.empty())
      return fail(
          Errc::invalid_input,
          "{}: its metadata do not say the {}: it is no checkpoint that a run goes on from; "
          "{}",
          escaped(beginning.file.string()), key, way_out);
    const auto before = is_said ? found->second : usual;
    if (before != value)
      return fail(Errc::invalid_input,
                  "the checkpoint of step {} was made with {} {}, the config says {}; {}",
                  checkpoint.step, key, echoed(before), echoed(value), way_out);
  }
  return {};
}

/// Whether a process trains this run: it holds a lock on the events
/// (metrics/report/detail/json_lines.hpp).
bool in_use(const fs::path& folder) {
  const net::Descriptor events{::open((folder / "events.jsonl").c_str(), O_RDONLY | O_CLOEXEC)};
  return events && ::flock(events.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// Renames an earlier run out of the way: NAME to NAME.1, or the first number that is free.
Result<std::optional<fs::path>> move_aside(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error))
    return std::nullopt;
  if (in_use(folder))
    return fail(Errc::invalid_input,
                "{} is being written by another process; give this run another run.name",
                folder.string());
  for (int number = 1;; ++number) {
    const fs::path aside = fmt::format("{}.{}", folder.string(), number);
    if (fs::exists(aside, error))
      continue;
    fs::rename(folder, aside, error);
    if (error)
      return fail(Errc::io, "cannot rename {} to {}: {}", folder.string(), aside.string(),
                  error.message());
    return aside;
  }
}

/// Reads a checkpoint that the config names: what is wrong with it is wrong with the config.
Result<Checkpoint> read_named(std::string_view key, const std::string& path) {
  auto checkpoint = read_checkpoint(path);
  if (!checkpoint)
    return fail(Errc::invalid_input, "{}: {}", key, checkpoint.error().message);
  return checkpoint;
}

void note_precision(Beginning& beginning, const std::string& mode) {
  const auto& metadata = beginning.checkpoint->metadata;
  if (const auto before = metadata.find(precision_key);
      before != metadata.end() && before->second != mode)
    beginning.notes.push_back(
        fmt::format("the checkpoint of step {} was trained in {}; going on in {}",
                    beginning.checkpoint->step, before->second, mode));
}

} // namespace

std::map<std::string, std::string> checkpoint_metadata(const Config& config) {
  std::map<std::string, std::string> metadata = {
      {"model", config.model.name},
      {"dataset", config.data.dataset},
      {"batch_size", std::to_string(config.data.batch_size)},
      {"seed", std::to_string(config.run.seed)},
      {"optimizer", config.train.optimizer.name},
      {shuffle_key, to_text(config.data.shuffle)},
      {precision_key, config.precision.mode}};
  if (facts_of_data(config.data.dataset).sample == SampleKind::image)
    metadata.emplace(normalization_key, data::to_string(data::normalization_of(config.data)));
  return metadata;
}

fs::path run_folder(const Config& config) {
  return fs::path{config.run.output} / config.run.name;
}

Result<Beginning> find_beginning(const Config& config, const fs::path& folder) {
  Beginning beginning;
  const auto& resume = config.checkpoint.resume;
  if (resume == "never") {
    TROUPE_TRY(const auto aside, move_aside(folder));
    if (aside)
      beginning.notes.push_back(
          fmt::format("an earlier run of this name is now {}", aside->string()));
  } else if (resume == "auto") {
    auto newest = CheckpointStore{folder / "checkpoints"}.newest_valid();
    for (const auto& skipped : newest.skipped)
      beginning.notes.push_back(fmt::format("skipped: {}", skipped.to_string()));
    if (newest.entry) {
      beginning.checkpoint = std::move(newest.checkpoint);
      beginning.file = newest.entry->path;
    }
  } else {
    TROUPE_TRY(beginning.checkpoint, read_named("checkpoint.resume", resume));
    beginning.file = resume;
  }
  if (beginning.checkpoint) {
    TROUPE_TRY(check_same_run(beginning, config));
    note_precision(beginning, config.precision.mode);
    return beginning;
  }
  if (config.model.pretrained) {
    TROUPE_TRY(auto pretrained, read_pretrained(config));
    beginning.checkpoint = std::move(pretrained.checkpoint);
    std::ranges::move(pretrained.notes, std::back_inserter(beginning.notes));
  }
  return beginning;
}

Result<Checkpoint> initial_checkpoint(const Graph& graph, std::uint64_t seed) {
  auto values = nn::initial_values(graph, seed);
  if (!values)
    return failure(values.error());
  // The checkpoint's storage keeps the values: its tensors point into them.
  const auto owner = std::make_shared<const std::vector<nn::InitialTensor>>(std::move(*values));
  Checkpoint checkpoint;
  for (const auto& tensor : *owner)
    checkpoint.tensors.push_back({tensor.name, tensor.shape, tensor.values});
  checkpoint.storage = {owner, reinterpret_cast<const std::byte*>(owner->data())};
  return checkpoint;
}

} // namespace troupe::engine
