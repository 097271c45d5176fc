#include "app/compare_runs.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/report/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace troupe::app {

namespace {

namespace fs = std::filesystem;

/// Appends the folder to names that several runs share.
void tell_apart(std::vector<metrics::ComparedRun>& runs, const std::vector<std::string>& folders) {
  std::map<std::string, int> count;
  for (const auto& run : runs)
    ++count[run.name];
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (count[runs[i].name] > 1)
      runs[i].name += fmt::format(" in {}", echoed(folders[i]));
}

/// The path relative to the table's folder; empty for files outside of it, to which the page has no
/// links.
std::string link_to(const fs::path& file, const fs::path& table) {
  const auto path = fs::absolute(file).lexically_normal().lexically_relative(
      fs::absolute(table).lexically_normal());
  return !fs::exists(file) || path.empty() || path.begin()->string() == ".." ? "" : path.string();
}

std::string title_of(const std::vector<metrics::ComparedRun>& runs) {
  const auto same = [&](const auto& run) { return run.job == runs.front().job; };
  return std::ranges::all_of(runs, same) ? runs.front().job : fmt::format("{} runs", runs.size());
}

} // namespace

Result<metrics::Comparison> read_runs(const std::vector<std::string>& folders,
                                      const fs::path& table) {
  metrics::Comparison comparison{
      .title = {}, .runs = {}, .machine = std::nullopt, .version = TROUPE_VERSION};
  for (const auto& folder : folders) {
    TROUPE_TRY(auto run, metrics::read_compared_run(folder));
    run.report = link_to(fs::path{folder} / metrics::run_files::report, table);
    comparison.runs.push_back(std::move(run));
  }
  tell_apart(comparison.runs, folders);
  comparison.title = title_of(comparison.runs);
  return comparison;
}

} // namespace troupe::app
