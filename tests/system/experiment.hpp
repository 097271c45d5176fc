/// Runs of the program on one config, and their files.
#pragma once

#include "core/checkpoint/checkpoint.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/system/running_program.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::testing {

/// Settings such as "train.epochs=2", for --set.
using Settings = std::vector<std::string>;
Settings operator+(Settings a, const Settings& b);
/// hsdp uses groups of two.
Settings workers(const std::string& strategy, int count);
/// Uses a text of this tree, and stores its tokens elsewhere.
Settings text_of_this_tree();

/// The files of runs/NAME/, also while the run continues.
class RunFiles {
public:
  explicit RunFiles(std::filesystem::path folder) : folder_{std::move(folder)} {}

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }
  bool has(std::string_view name) const { return std::filesystem::exists(folder_ / name); }

  nlohmann::json summary() const;
  std::string digest() const { return summary().at("parameters_sha256"); }
  /// Return the complete lines of a file.
  std::vector<nlohmann::json> events() const { return lines_of("events.jsonl"); }
  std::vector<nlohmann::json> epochs() const { return lines_of("epochs.jsonl"); }
  std::vector<nlohmann::json> samples() const { return lines_of("samples.jsonl"); }
  std::vector<nlohmann::json> recoveries() const { return lines_of("recoveries.jsonl"); }
  /// Returns one key of all events.
  template <class Value>
  std::vector<Value> column(const char* key) const {
    std::vector<Value> values;
    for (const auto& event : events())
      values.push_back(event.at(key).get<Value>());
    return values;
  }
  std::vector<double> losses() const { return column<double>("loss"); }
  std::int64_t steps_done() const;
  /// Returns the entries of checkpoints/ by name: oldest first, including unfinished ones.
  std::vector<std::filesystem::path> checkpoints() const;
  /// Whether a job that is killed now could resume: checkpoints are written during the steps.
  bool has_checkpoint() const;
  Checkpoint newest_checkpoint() const;

private:
  std::vector<nlohmann::json> lines_of(const char* file) const;

  std::filesystem::path folder_;
};

/// A folder for the runs of a test case, and a config: small.yaml, with some settings.
class Experiment {
public:
  explicit Experiment(Settings settings = {}, std::filesystem::path config = small_config())
      : config_{std::move(config)}, settings_{std::move(settings)} {}

  static std::filesystem::path small_config() { return source_tree() / "tests/system/small.yaml"; }

  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }
  std::filesystem::path output() const { return folder_ / "runs"; }
  RunFiles run(const std::string& name) const { return RunFiles{output() / name}; }

  /// Returns `troupe VERB CONFIG --set ...`; `more`: settings, or options that begin with --.
  std::vector<std::string> command(const std::string& verb, const std::string& name,
                                   const Settings& more = {}) const;
  RunningProgram start(const std::string& name, const Settings& more = {}) const {
    return RunningProgram{command("train", name, more)};
  }
  RunningProgram start_node(const std::string& name, const Settings& more = {}) const {
    return RunningProgram{command("node", name, more)};
  }
  Ended train(const std::string& name, const Settings& more = {}) const {
    return start(name, more).wait();
  }
  /// Trains, and requires that this completes.
  RunFiles completed(const std::string& name, const Settings& more = {}) const;

private:
  ScratchFolder folder_;
  std::filesystem::path config_;
  Settings settings_;
};

/// Returns the port that a run with metrics.listen 127.0.0.1:0, or 0.0.0.0:0, reports.
std::uint16_t metrics_port(RunningProgram& program);

/// Returns the address that a daemon reports once it is ready.
std::string daemon_address(RunningProgram& node);

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns 0, 1, ..., count - 1: the steps of a whole run.
std::vector<std::int64_t> all_steps(std::int64_t count);

/// Checks that losses and the newest checkpoints have the same bits.
void check_same(const RunFiles& a, const RunFiles& b);

/// Returns the largest difference of two runs' losses, relative to the loss.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

} // namespace troupe::testing
