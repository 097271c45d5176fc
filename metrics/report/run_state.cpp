#include "metrics/report/run_state.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/report/best_epoch.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace troupe::metrics {

namespace fs = std::filesystem;

std::optional<RunState> read_run_state(const fs::path& folder) {
  // Check this before reading the summary: the run may end in between.
  const bool is_running = is_being_written(folder / run_files::steps);
  auto summary = parse_summary(read_text(folder / run_files::summary));
  auto info = parse_run_info(read_text(folder / run_files::info));
  if (!info && summary)
    info = *summary;
  if (!info)
    return std::nullopt;
  const std::string without = is_running ? "running" : "interrupted";
  auto status = summary ? summary->status : without;
  return RunState{*std::move(info), std::move(summary), std::move(status)};
}

Result<std::vector<ListedRun>> list_runs(const fs::path& output) {
  std::error_code error;
  std::vector<ListedRun> runs;
  fs::directory_iterator at{output, error};
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    return fail(Errc::invalid_input, "{}: the folder does not exist", echoed(output.string()));
  for (; !error && at != fs::directory_iterator{}; at.increment(error))
    if (auto state = read_run_state(at->path()))
      runs.push_back({*std::move(state), at->path(), read_best_epoch(at->path())});
  if (error)
    return fail(Errc::io, "cannot read {}: {}", echoed(output.string()), error.message());
  std::ranges::sort(runs, [](const ListedRun& a, const ListedRun& b) {
    return std::pair{b.info.started, a.folder} < std::pair{a.info.started, b.folder};
  });
  return runs;
}

std::string read_text(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace troupe::metrics
