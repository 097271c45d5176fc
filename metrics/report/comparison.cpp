#include "comparison.hpp"

#include "../readable.hpp"
#include "detail/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::metrics {

namespace {

using Json = OrderedJson;

void take_workers(ComparedRun& run, const Json& workers) {
  run.workers = std::ssize(workers);
  for (const auto& worker : workers) {
    run.peak_memory_bytes =
        std::max(run.peak_memory_bytes, worker.value("peak_memory_bytes", std::uint64_t{0}));
    run.busy_ratio += worker.value("busy_ratio", 0.0) / static_cast<double>(run.workers);
  }
}

/// A null is a number that was not finite.
double number(const Json& summary, const char* key) {
  const auto found = summary.find(key);
  return found != summary.end() && found->is_number() ? found->get<double>() : 0.0;
}

/// Figures only of a run that has completed.
Json to_object(const ComparedRun& run) {
  const auto figure = [&run](auto value) { return run.problem.empty() ? Json(value) : Json(); };
  return {{"strategy", run.strategy},
          {"precision", run.precision},
          {"problem", text_or_null(run.problem)},
          {"workers", figure(run.workers)},
          {"seconds", figure(run.seconds)},
          {"samples_per_second", figure(run.samples_per_second)},
          {"peak_memory_bytes", figure(run.peak_memory_bytes)},
          {"busy_ratio", figure(run.busy_ratio)},
          {"overlap_ratio", figure(run.overlap_ratio)},
          {"loss", figure(run.loss)},
          {"accuracy", run.accuracy ? figure(*run.accuracy) : Json()},
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

std::string markdown_row(const ComparedRun& run) {
  if (!run.problem.empty())
    return fmt::format("| {} | {} | {} | | | | | | |\n", run.strategy, run.precision,
                       cell(run.problem));
  return fmt::format(
      "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", run.strategy, run.precision, run.workers,
      readable_seconds(run.seconds), readable_rate(run.samples_per_second),
      readable_bytes(static_cast<double>(run.peak_memory_bytes)), readable_percent(run.busy_ratio),
      run.workers > 1 ? readable_percent(run.overlap_ratio) : "-",
      run.accuracy ? readable_percent(*run.accuracy) : "-");
}

} // namespace

void take_summary(ComparedRun& run, std::string_view json) {
  const auto summary = Json::parse(json, nullptr, false);
  if (!summary.is_object() || !summary.contains("status")) {
    run.problem = "the run has left no summary";
    return;
  }
  if (const auto status = summary.value("status", ""); status != "completed") {
    const auto error = summary.find("error");
    run.problem = error != summary.end() && error->is_string() ? error->get<std::string>() : status;
    return;
  }
  run.problem.clear();
  run.seconds = number(summary, "seconds");
  run.samples_per_second = number(summary, "samples_per_second");
  run.overlap_ratio = number(summary, "overlap_ratio");
  run.loss = number(summary, "loss");
  if (summary.contains("accuracy") && summary["accuracy"].is_number())
    run.accuracy = summary["accuracy"].get<double>();
  take_workers(run, summary.value("workers", Json::array()));
}

std::string to_markdown(const Comparison& comparison) {
  std::string text = "| strategy | precision | workers | time | samples/s | peak memory per worker "
                     "| busy | overlap "
                     "| accuracy |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& run : comparison.runs)
    text += markdown_row(run);
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
