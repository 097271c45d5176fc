#include "metrics/report/run_list.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/report/best_epoch.hpp"
#include "metrics/report/run_state.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace troupe::metrics {

namespace fs = std::filesystem;

Result<std::vector<ListedRun>> list_runs(const fs::path& output) {
  std::error_code error;
  std::vector<ListedRun> runs;
  fs::directory_iterator at{output, error};
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    return fail(Errc::invalid_input, "{}: the folder does not exist", echoed(output.string()));
  for (; !error && at != fs::directory_iterator{}; at.increment(error))
    if (auto state = read_run_state(at->path()))
      runs.push_back({.folder = at->path(),
                      .info = std::move(state->info),
                      .status = std::move(state->status),
                      .best = read_best_epoch(at->path())});
  if (error)
    return fail(Errc::io, "cannot read {}: {}", echoed(output.string()), error.message());
  std::ranges::sort(runs, [](const ListedRun& a, const ListedRun& b) {
    return std::pair{b.info.started, a.folder} < std::pair{a.info.started, b.folder};
  });
  return runs;
}

} // namespace troupe::metrics
