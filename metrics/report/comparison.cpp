#include "comparison.hpp"

#include "../readable.hpp"
#include "../text_figures.hpp"
#include "detail/json_values.hpp"
#include "run_json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::metrics {

namespace {

using Json = OrderedJson;

void take_workers(ComparedRun& run, const std::vector<WorkerSummary>& workers) {
  run.workers = std::ssize(workers);
  for (const auto& worker : workers) {
    run.peak_memory_bytes = std::max(run.peak_memory_bytes, worker.peak_memory_bytes);
    run.busy_ratio += worker.busy_ratio / static_cast<double>(run.workers);
  }
}

/// Figures only of a run that has completed.
Json to_object(const ComparedRun& run) {
  const auto figure = [&run](const std::optional<double>& value) {
    return run.problem.empty() ? number_or_null(value) : Json();
  };
  const auto count = [&run](auto value) { return run.problem.empty() ? Json(value) : Json(); };
  return {{"strategy", run.strategy},
          {"precision", run.precision},
          {"problem", text_or_null(run.problem)},
          {"workers", count(run.workers)},
          {"seconds", figure(run.seconds)},
          {"samples_per_second", figure(run.samples_per_second)},
          {"tokens_per_second", figure(run.tokens_per_second)},
          {"peak_memory_bytes", count(run.peak_memory_bytes)},
          {"busy_ratio", figure(run.busy_ratio)},
          {"overlap_ratio", figure(run.overlap_ratio)},
          {"loss", figure(run.loss)},
          {"accuracy", figure(run.accuracy)},
          {"perplexity", figure(run.perplexity)},
          {"report", text_or_null(run.report)},
          {"log", text_or_null(run.log)}};
}

Json to_object(const ComparedMachine& machine) {
  return {{"host", machine.host},
          {"processor", text_or_null(machine.processor)},
          {"cores", machine.cores},
          {"instruction_set", text_or_null(machine.instruction_set)},
          {"memory_bytes", machine.memory_bytes > 0 ? Json(machine.memory_bytes) : Json()},
          {"gpus", machine.gpus}};
}

/// A bar would end the cell.
std::string cell(std::string text) {
  std::ranges::replace(text, '|', '/');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string readable_overlap(const ComparedRun& run) {
  return run.workers > 1 ? readable_percent(run.overlap_ratio) : "-";
}

std::string or_dash(const std::optional<double>& figure, std::string (*readable)(double)) {
  return figure ? readable(*figure) : "-";
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
      {"time", [](Run run) { return readable_seconds(run.seconds); }},
      {"samples/s", [](Run run) { return readable_rate(run.samples_per_second); }},
      {"tokens/s", [](Run run) { return or_dash(run.tokens_per_second, readable_rate); }, texts},
      {"peak memory per worker",
       [](Run run) { return readable_bytes(static_cast<double>(run.peak_memory_bytes)); }},
      {"busy", [](Run run) { return readable_percent(run.busy_ratio); }},
      {"overlap", readable_overlap},
      {"accuracy", [](Run run) { return or_dash(run.accuracy, readable_percent); },
       classes || !texts},
      {"perplexity", [](Run run) { return or_dash(run.perplexity, readable_perplexity); }, texts}};
  std::erase_if(columns, [](const Column& column) { return !column.is_shown; });
  return columns;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

std::string markdown_row(const ComparedRun& run, const std::vector<Column>& columns) {
  auto row = fmt::format("| {} | {} |", run.strategy, run.precision);
  if (run.problem.empty())
    for (const auto& column : columns)
      row += fmt::format(" {} |", column.cell(run));
  else
    row += fmt::format(" {} |", cell(run.problem)) + repeated(" |", columns.size() - 1);
  return row + "\n";
}

} // namespace

void take_summary(ComparedRun& run, std::string_view json) {
  const auto summary = parse_summary(json);
  if (!summary || summary->status.empty()) {
    run.problem = "the run has left no summary";
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
  std::string text = "| strategy | precision |";
  for (const auto& column : columns)
    text += fmt::format(" {} |", column.title);
  text += "\n|" + repeated("---|", columns.size() + 2) + "\n";
  for (const auto& run : comparison.runs)
    text += markdown_row(run, columns);
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
                     {"machine", to_object(comparison.machine)},
                     {"version", comparison.version},
                     {"runs", rows}},
                2) +
         "\n";
}

} // namespace troupe::metrics
