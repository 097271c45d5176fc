// `troupe runs`: lists the runs of a folder, one line each.
#include "app/add_command.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/json_values.hpp"
#include "metrics/report/run_state.hpp"
#include "metrics/time_stamp.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace troupe::app {

namespace {

using Json = metrics::OrderedJson;
using metrics::ListedRun;
using RunCells = std::array<std::string, 6>;

struct RunsArguments {
  std::string folder = "runs";
  bool json = false;
};

/// "test accuracy 91.2% (epoch 3)"
std::string best_of(const ListedRun& run) {
  return run.best ? fmt::format("{} (epoch {})", metrics::format_result(run.info, *run.best),
                                run.best->epoch + 1)
                  : "-";
}

std::string local_time(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%d %H:%M}",
                     fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

RunCells cells_of_run(const ListedRun& run) {
  return {escaped(run.folder.filename().string()),
          escaped(run.info.model),
          escaped(run.info.dataset),
          escaped(run.status),
          best_of(run),
          local_time(run.info.started)};
}

void print_table(const std::vector<ListedRun>& runs) {
  std::vector<RunCells> rows = {{"name", "model", "data", "state", "best", "started"}};
  std::ranges::transform(runs, std::back_inserter(rows), cells_of_run);
  std::array<std::size_t, std::tuple_size_v<RunCells>> widths = {};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      fmt::print("{:<{}}  ", row[i], widths[i]);
    fmt::print("{}\n", row.back());
  }
}

Json json_of_run(const ListedRun& run) {
  Json best;
  if (const auto& epoch = run.best)
    best = {{"epoch", epoch->epoch},
            {"test_loss", *epoch->test_loss},
            {"test_accuracy", metrics::number_or_null(epoch->test_accuracy)}};
  return {{"name", run.folder.filename().string()},
          {"model", run.info.model},
          {"dataset", run.info.dataset},
          {"status", run.status},
          {"best", best},
          {"started", metrics::utc(run.info.started)}};
}

void print_json(const std::vector<ListedRun>& runs) {
  auto list = Json::array();
  std::ranges::transform(runs, std::back_inserter(list), json_of_run);
  fmt::print("{}\n", metrics::dumped(list, 2));
}

Status list_runs(const RunsArguments& arguments) {
  TROUPE_TRY(const auto runs, metrics::list_runs(arguments.folder));
  if (arguments.json)
    print_json(runs);
  else if (runs.empty())
    fmt::print("no runs in {}\n", echoed(arguments.folder));
  else
    print_table(runs);
  return {};
}

} // namespace

void add_runs_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<RunsArguments>(
      app, action, "runs", "List the runs in a folder, newest first", list_runs);
  add_value(command, "folder", "FOLDER", arguments.folder, "Folder of runs (run.output)")
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "Print JSON; epochs are counted from 0");
}

} // namespace troupe::app
