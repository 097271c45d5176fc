// `troupe report`: generates the page of a run again from the files of its folder.
#include "app/commands.hpp"
#include "app/report_error.hpp"
#include "core/atomic_file.hpp"
#include "metrics/page/page.hpp"
#include "metrics/report/folder_report.hpp"
#include "metrics/report/run_folder.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace troupe::app {

namespace {

struct ReportArguments {
  std::string folder, output;
  bool json = false;
};

int make_report(const ReportArguments& arguments) {
  const std::filesystem::path folder{arguments.folder};
  const auto report = metrics::read_report(folder);
  if (!report)
    return report_error(report.error());
  for (const auto& note : report->notes)
    report_error(note);
  const auto document = to_json(report->document, false, std::chrono::system_clock::now());
  if (arguments.json && arguments.output.empty()) {
    fmt::print("{}\n", document);
    return success;
  }
  const auto path = arguments.output.empty() ? folder / metrics::run_files::report
                                             : std::filesystem::path{arguments.output};
  const auto written = write_file_atomically(
      path, arguments.json ? document + "\n" : metrics::standalone_page(document));
  if (!written)
    return report_error(written.error());
  fmt::print("report: {}\n", path.string());
  return success;
}

} // namespace

void add_report_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ReportArguments>();
  auto* command = app.add_subcommand(
      "report", "Generate a run's report again, also while it runs or after it was killed");
  command->add_option("folder", arguments->folder, "The run's folder: OUTPUT/NAME")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("-o,--output", arguments->output,
                   "Write to this file instead of the run's folder")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json,
                    "Write only the report's data as JSON, to stdout or the output file");
  command->callback([&action, arguments] {
    action = [arguments](const Catalogue&) { return make_report(*arguments); };
  });
}

} // namespace troupe::app
