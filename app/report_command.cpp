// `troupe report`: generates the page of a run again from the files of its folder.
#include "app/add_command.hpp"
#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "metrics/page/page.hpp"
#include "metrics/report/folder_report.hpp"
#include "metrics/report/run_folder.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>

namespace troupe::app {

namespace {

struct ReportArguments {
  std::string folder, output;
  bool json = false;
};

Status make_report(const ReportArguments& arguments) {
  const std::filesystem::path folder{arguments.folder};
  TROUPE_TRY(const auto report, metrics::read_report(folder));
  for (const auto& note : report.log.records())
    report_error(note.text);
  const auto document = to_json(report, std::chrono::system_clock::now());
  if (arguments.json && arguments.output.empty()) {
    fmt::print("{}\n", document);
    return {};
  }
  const auto path = arguments.output.empty() ? folder / metrics::run_files::report
                                             : std::filesystem::path{arguments.output};
  TROUPE_TRY(write_file_atomically(path, arguments.json ? document + "\n"
                                                        : metrics::standalone_page(document)));
  fmt::print("report: {}\n", path.string());
  return {};
}

} // namespace

void add_report_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<ReportArguments>(
      app, action, "report",
      "Generate a run's report again, also while it runs or after it was killed", make_report);
  add_value(command, "folder", "FOLDER", arguments.folder, "The run's folder: OUTPUT/NAME")
      ->required();
  add_value(command, "-o,--output", "FILE", arguments.output,
            "Write to this file instead of the run's folder");
  command.add_flag("--json", arguments.json,
                   "Write only the report's data as JSON, to stdout or the output file");
}

} // namespace troupe::app
