#include "metrics/report/run_state.hpp"

#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"

#include <fstream>
#include <iterator>
#include <utility>

namespace troupe::metrics {

std::optional<RunState> read_run_state(const std::filesystem::path& folder) {
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

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace troupe::metrics
