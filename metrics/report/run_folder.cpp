#include "run_folder.hpp"

#include "detail/html_report.hpp"
#include "run_json.hpp"

#include "troupe/core/atomic_file.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/printable.hpp"

#include <fstream>
#include <system_error>
#include <utility>

namespace troupe::metrics {

namespace {

constexpr const char* steps_file = "events.jsonl";
constexpr const char* epochs_file = "epochs.jsonl";

template <class Record>
std::vector<Record> read_lines(const std::filesystem::path& path,
                               std::optional<Record> (*parse)(std::string_view)) {
  std::ifstream in(path, std::ios::binary);
  std::vector<Record> records;
  for (std::string line; std::getline(in, line);)
    if (auto record = parse(line))
      records.push_back(*std::move(record));
  return records;
}

/// Epochs whose lines stay when a run goes on: those that will not be run again. A run that has
/// come to its end keeps the epoch that max_steps cut short, too.
std::int64_t epochs_before(const RunInfo& run) {
  if (run.steps_per_epoch <= 0)
    return 0;
  const auto whole = run.first_step / run.steps_per_epoch;
  const bool cut_short = run.first_step % run.steps_per_epoch != 0;
  return run.first_step >= run.total_steps && cut_short ? whole + 1 : whole;
}

Errc code_of(const std::error_code& error) {
  return error == std::errc::no_space_on_device ? Errc::no_space : Errc::io;
}

} // namespace

RunFolder::RunFolder(std::filesystem::path path, JsonLines steps, JsonLines epochs,
                     std::string config)
    : path_(std::move(path)), steps_(std::move(steps)), epochs_(std::move(epochs)),
      config_(std::move(config)) {}

Result<RunFolder> RunFolder::open(const std::filesystem::path& output, const RunInfo& run,
                                  std::string_view config_yaml) {
  auto path = output / run.name;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return fail(code_of(error), "cannot make the folder {}: {}", echoed(path.string()),
                error.message());
  TROUPE_TRY(auto steps, JsonLines::open(path / steps_file, "step", run.first_step));
  TROUPE_TRY(auto epochs, JsonLines::open(path / epochs_file, "epoch", epochs_before(run)));
  RunFolder folder(std::move(path), std::move(steps), std::move(epochs), std::string(config_yaml));
  std::filesystem::remove(folder.summary(), error);
  std::filesystem::remove(folder.report(), error);
  TROUPE_TRY(write_file_atomically(folder.path_ / "config.yaml", config_yaml));
  return folder;
}

Status RunFolder::append(const StepRecord& step) {
  return steps_.append(to_json(step));
}

Status RunFolder::append(const EpochRecord& epoch) {
  return epochs_.append(to_json(epoch));
}

Status RunFolder::finish(const RunSummary& last) {
  TROUPE_TRY(write_file_atomically(summary(), to_json(last)));
  return write_file_atomically(report(), html_report({last, read_history(path_), config_}));
}

RunHistory read_history(const std::filesystem::path& run) {
  return {.steps = read_lines<StepRecord>(run / steps_file, parse_step),
          .epochs = read_lines<EpochRecord>(run / epochs_file, parse_epoch)};
}

} // namespace troupe::metrics
