#include "inference/find_weights.hpp"

#include "core/checkpoint/store.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::inference {

namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoints = "checkpoints";
constexpr const char* best = "best";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::optional<fs::path> config_of_run(const fs::path& run) {
  const auto config = run / "config.yaml";
  return is_there(config) ? std::optional{config} : std::nullopt;
}

/// Returns the config in runs/NAME for runs/NAME/checkpoints/step-N.safetensors.
std::optional<fs::path> config_around(const fs::path& weights) {
  std::error_code error;
  const auto folder = fs::absolute(weights, error).lexically_normal().parent_path();
  return !error && folder.filename() == checkpoints ? config_of_run(folder.parent_path())
                                                    : std::nullopt;
}

/// `best` may be a file, a link or a folder, with or without an extension.
std::optional<fs::path> best_of(const fs::path& folder) {
  for (const auto* ending : {"", ".safetensors"})
    if (const auto path = folder / (std::string{best} + ending); is_there(path))
      return path;
  return std::nullopt;
}

} // namespace

Result<FoundWeights> find_weights(const fs::path& path) {
  std::error_code ignored;
  const auto shown = escaped(path.string());
  if (!is_there(path))
    return fail(Errc::invalid_input,
                "{}: there is no such file or folder; expected a weights file (.safetensors), a "
                "checkpoint, a run's folder (runs/NAME) or a Hugging Face folder",
                shown);
  const auto folder = path / checkpoints;
  if (!fs::is_directory(path, ignored) || !fs::is_directory(folder, ignored)) {
    const bool is_empty_run = fs::is_directory(path, ignored) && config_of_run(path).has_value();
    if (is_empty_run)
      return fail(Errc::invalid_input, "{}: the run has no checkpoints yet (see checkpoint.every)",
                  shown);
    return FoundWeights{path, config_around(path)};
  }
  if (const auto found = best_of(folder))
    return FoundWeights{*found, config_of_run(path)};
  const auto all = CheckpointStore{folder}.list();
  if (all.empty())
    return fail(Errc::invalid_input, "{}: this folder contains no checkpoint",
                escaped(folder.string()));
  return FoundWeights{all.front().path, config_of_run(path)};
}

} // namespace troupe::inference
