#include "metrics/report/comparison.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"
#include "metrics/report/detail/history_json.hpp"
#include "metrics/report/folder_report.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/text_figures.hpp"
#include "metrics/time_stamp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace troupe::metrics {

namespace {

using Json = OrderedJson;

void take_workers(ComparedRun& run, const std::vector<WorkerSummary>& workers) {
  run.workers = std::ssize(workers);
  double busy = 0;
  for (const auto& worker : workers) {
    run.peak_memory_bytes = std::max(run.peak_memory_bytes, worker.peak_memory_bytes);
    busy += worker.busy_ratio / static_cast<double>(run.workers);
  }
  run.busy_ratio = busy;
}

void take_progress(ComparedRun& run, const RunInfo& info, const Progress& now) {
  run.workers = info.world_size;
  run.seconds = now.seconds;
  run.samples_per_second = now.samples_per_second.value_or(0);
  run.tokens_per_second = tokens_per_second(info, run.samples_per_second);
  run.overlap_ratio = now.overlap_ratio.value_or(0);
  run.loss = now.loss.value_or(std::numeric_limits<double>::quiet_NaN());
  run.accuracy = now.test_accuracy;
  run.perplexity = perplexity(info, now.test_loss);
}

/// Only completed runs have results.
Json to_object(const ComparedRun& run) {
  const auto figure = [&run](const std::optional<double>& value) {
    return run.problem.empty() ? number_or_null(value) : Json();
  };
  const auto count = [&run](auto value) { return run.problem.empty() ? Json(value) : Json(); };
  return {{"name", text_or_null(run.name)},
          {"job", run.job},
          {"strategy", run.strategy},
          {"precision", run.precision},
          {"problem", text_or_null(run.problem)},
          {"workers", count(run.workers)},
          {"seconds", figure(run.seconds)},
          {"samples_per_second", figure(run.samples_per_second)},
          {"tokens_per_second", figure(run.tokens_per_second)},
          {"peak_memory_bytes", run.peak_memory_bytes > 0 ? count(run.peak_memory_bytes) : Json()},
          {"busy_ratio", figure(run.busy_ratio)},
          {"overlap_ratio", figure(run.overlap_ratio)},
          {"loss", figure(run.loss)},
          {"accuracy", figure(run.accuracy)},
          {"perplexity", figure(run.perplexity)},
          {"report", text_or_null(run.report)},
          {"log", text_or_null(run.log)},
          {"curves", Json::parse(json_of(run.curves))}};
}

Json to_object(const ComparedMachine& machine) {
  return {{"host", machine.host},
          {"processor", text_or_null(machine.processor)},
          {"cores", machine.cores},
          {"instruction_set", text_or_null(machine.instruction_set)},
          {"memory_bytes", machine.memory_bytes > 0 ? Json(machine.memory_bytes) : Json()},
          {"gpus", machine.gpus}};
}

/// Replaces "|", which would end the cell.
std::string cell(std::string text) {
  std::ranges::replace(text, '|', '/');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string format_overlap(const ComparedRun& run) {
  return run.workers > 1 ? format_percent(run.overlap_ratio) : "-";
}

std::string or_dash(const std::optional<double>& figure, std::string (*readable)(double)) {
  return figure ? readable(*figure) : "-";
}

std::string format_memory(const ComparedRun& run) {
  return run.peak_memory_bytes > 0 ? format_bytes(static_cast<double>(run.peak_memory_bytes)) : "-";
}

using Run = const ComparedRun&;

struct Column {
  std::string_view title;
  std::string (*cell)(Run);
  bool is_shown = true;
};

std::vector<Column> columns_of(const std::vector<ComparedRun>& runs) {
  const auto any = [&runs](auto figure) {
    return std::ranges::any_of(runs, [figure](Run run) { return (run.*figure).has_value(); });
  };
  const bool texts = any(&ComparedRun::tokens_per_second);
  const bool classes = any(&ComparedRun::accuracy);
  std::vector<Column> columns = {
      {"workers", [](Run run) { return std::to_string(run.workers); }},
      {"time", [](Run run) { return format_seconds(run.seconds); }},
      {"samples/s", [](Run run) { return format_rate(run.samples_per_second); }},
      {"tokens/s", [](Run run) { return or_dash(run.tokens_per_second, format_rate); }, texts},
      {"peak memory per worker", format_memory},
      {"busy", [](Run run) { return or_dash(run.busy_ratio, format_percent); }},
      {"overlap", format_overlap},
      {"test accuracy", [](Run run) { return or_dash(run.accuracy, format_percent); },
       classes || !texts},
      {"test perplexity", [](Run run) { return or_dash(run.perplexity, format_perplexity); },
       texts}};
  std::erase_if(columns, [](const Column& column) { return !column.is_shown; });
  return columns;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

std::string markdown_row(const ComparedRun& run, const std::vector<Column>& columns, bool named) {
  auto row = named ? fmt::format("| {} ", cell(run.name)) : std::string{};
  row += fmt::format("| {} | {} |", run.strategy, run.precision);
  if (run.problem.empty())
    for (const auto& column : columns)
      row += fmt::format(" {} |", column.cell(run));
  else
    row += fmt::format(" {} |", cell(run.problem)) + repeated(" |", columns.size() - 1);
  return row + "\n";
}

Result<std::string> label_of(const RunDocument& document, const std::filesystem::path& folder) {
  if (document.history.progress.now().steps == 0)
    return fail(Errc::invalid_input, "{}: the run has not made a step yet",
                echoed(folder.string()));
  return document.status == "completed"
             ? document.run.name
             : fmt::format("{} ({})", document.run.name, document.status);
}

} // namespace

RunCurves curves_of(const RunDocument& document) {
  RunCurves curves{.steps = document.history.steps};
  for (auto& epoch : document.history.epochs.epochs())
    if (epoch.test_loss) {
      epoch.step = last_step_of(epoch, document.run);
      curves.tests.push_back(epoch);
    }
  return curves;
}

Result<ComparedRun> read_compared_run(const std::filesystem::path& folder) {
  TROUPE_TRY(const auto document, read_report(folder));
  ComparedRun run{std::string{to_string(document.run.strategy)}, document.run.precision};
  TROUPE_TRY(run.name, label_of(document, folder));
  run.job = fmt::format("{} on {}", document.run.model, document.run.dataset);
  take_progress(run, document.run, document.history.progress.now());
  if (!document.workers.empty())
    take_workers(run, document.workers);
  run.curves = curves_of(document);
  return run;
}

void take_summary(ComparedRun& run, std::string_view json) {
  const auto summary = parse_summary(json);
  if (!summary || summary->status.empty()) {
    run.problem = "the run wrote no summary";
    return;
  }
  if (summary->status != "completed") {
    run.problem = summary->error.empty() ? summary->status : summary->error;
    return;
  }
  run.problem.clear();
  run.seconds = summary->seconds;
  run.samples_per_second = summary->samples_per_second;
  run.tokens_per_second = tokens_per_second(*summary, summary->samples_per_second);
  run.overlap_ratio = summary->overlap_ratio;
  run.loss = summary->loss;
  run.accuracy = summary->accuracy;
  run.perplexity = perplexity(*summary, summary->test_loss);
  take_workers(run, summary->workers);
}

std::string to_markdown(const Comparison& comparison) {
  const auto columns = columns_of(comparison.runs);
  const bool named =
      std::ranges::any_of(comparison.runs, [](Run run) { return !run.name.empty(); });
  std::string text = named ? "| run | strategy | precision |" : "| strategy | precision |";
  for (const auto& column : columns)
    text += fmt::format(" {} |", column.title);
  text += "\n|" + repeated("---|", columns.size() + (named ? 3 : 2)) + "\n";
  for (const auto& run : comparison.runs)
    text += markdown_row(run, columns, named);
  return text;
}

std::string to_json(const Comparison& comparison, std::chrono::system_clock::time_point made) {
  Json rows = Json::array();
  for (const auto& run : comparison.runs)
    rows.push_back(to_object(run));
  return dumped(Json{{"kind", "comparison"},
                     {"live", false},
                     {"made", utc_milliseconds(made)},
                     {"title", comparison.title},
                     {"machine", comparison.machine ? to_object(*comparison.machine) : Json()},
                     {"version", comparison.version},
                     {"runs", rows}}) +
         "\n";
}

} // namespace troupe::metrics
