#include "tests/system/experiment.hpp"

#include "core/checkpoint/store.hpp"
#include "tests/support/checkpoint_files.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <sstream>

namespace troupe::testing {

namespace fs = std::filesystem;

namespace {

/// Returns the program's path. In a GPU bundle, it is not where it was built, as with
/// source_tree().
std::string program() {
  const char* moved = std::getenv("TROUPE_PROGRAM");
  return moved != nullptr ? moved : TROUPE_PROGRAM;
}

bool gives(const Settings& settings, const std::string& key) {
  return std::ranges::any_of(
      settings, [&](const std::string& setting) { return setting.starts_with(key + "="); });
}

} // namespace

Settings operator+(Settings a, const Settings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Settings workers(const std::string& strategy, int count) {
  Settings settings = {"parallel.strategy=" + strategy, "devices.count=" + std::to_string(count)};
  if (strategy == "hsdp")
    settings.push_back("parallel.shard_group=2");
  return settings;
}

Settings text_of_this_tree() {
  static const ScratchFolder tokens;
  return {"data.root=" + (source_tree() / "docs/architecture.md").string(),
          "data.tokenizer.cache=" + tokens.path().string()};
}

nlohmann::json RunFiles::summary() const {
  return nlohmann::json::parse(read_bytes(folder_ / "summary.json"));
}

std::vector<nlohmann::json> RunFiles::lines_of(const char* file) const {
  std::vector<nlohmann::json> objects;
  std::istringstream in(read_bytes(folder_ / file));
  for (std::string line; std::getline(in, line) && !in.eof();)
    objects.push_back(nlohmann::json::parse(line));
  return objects;
}

std::int64_t RunFiles::steps_done() const {
  const auto text = read_bytes(folder_ / "events.jsonl");
  return std::ranges::count(text, '\n');
}

std::vector<fs::path> RunFiles::checkpoints() const {
  std::vector<fs::path> files;
  if (has("checkpoints"))
    for (const auto& entry : fs::directory_iterator{folder_ / "checkpoints"})
      if (!entry.is_symlink())
        files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

bool RunFiles::has_checkpoint() const {
  return !CheckpointStore{folder_ / "checkpoints"}.list().empty();
}

Checkpoint RunFiles::newest_checkpoint() const {
  // A run that was ended while it saved leaves a folder that is not a checkpoint.
  const auto finished = CheckpointStore{folder_ / "checkpoints"}.list();
  REQUIRE_FALSE(finished.empty());
  auto checkpoint = testing::read_checkpoint(finished.front().path);
  REQUIRE(checkpoint);
  return std::move(*checkpoint);
}

std::vector<std::string> Experiment::command(const std::string& verb, const std::string& name,
                                             const Settings& more) const {
  std::vector<std::string> words = {program(), verb, config_.string()};
  auto settings = settings_;
  settings.push_back("run.name=" + name);
  settings.push_back("run.output=" + output().string());
  settings.insert(settings.end(), more.begin(), more.end());
  // The limit of small.yaml is the size of its synthetic set.
  if (config_ == small_config() && gives(settings, "data.dataset") &&
      !gives(settings, "data.limit"))
    settings.emplace_back("data.limit=null");
  for (const auto& setting : settings) {
    if (!setting.starts_with("--"))
      words.emplace_back("--set");
    words.push_back(setting);
  }
  return words;
}

RunFiles Experiment::completed(const std::string& name, const Settings& more) const {
  const auto ended = train(name, more);
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  auto files = run(name);
  REQUIRE(files.summary().at("status") == "completed");
  return files;
}

std::uint16_t metrics_port(RunningProgram& program) {
  const std::string after = "/metrics\n";
  REQUIRE(program.prints(after));
  const auto out = program.out();
  const auto colon = out.rfind(':', out.find(after));
  return static_cast<std::uint16_t>(std::stoi(out.substr(colon + 1)));
}

std::string daemon_address(RunningProgram& node) {
  const std::string before = "daemon at ";
  REQUIRE(node.prints("ready\n"));
  const auto out = node.out();
  REQUIRE(out.find(before) != std::string::npos);
  const auto begin = out.find(before) + before.size();
  return out.substr(begin, out.find('\n', begin) - begin);
}

std::vector<std::int64_t> all_steps(std::int64_t count) {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(count));
  std::iota(steps.begin(), steps.end(), 0);
  return steps;
}

void check_same(const RunFiles& a, const RunFiles& b) {
  CHECK(a.losses() == b.losses());
  CHECK(a.digest() == b.digest());
  const auto ours = a.newest_checkpoint(), theirs = b.newest_checkpoint();
  REQUIRE(ours.tensors.size() == theirs.tensors.size());
  for (const auto& tensor : ours.tensors) {
    CAPTURE(tensor.name);
    const auto* other = theirs.find(tensor.name);
    REQUIRE(other);
    CHECK(std::ranges::equal(tensor.values, other->values));
  }
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.empty())
    return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]) / std::abs(b[i]));
  return largest;
}

} // namespace troupe::testing
