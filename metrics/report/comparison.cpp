#include "comparison.hpp"

#include "../readable.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe::metrics {

namespace {

using Json = nlohmann::ordered_json;

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

Json to_object(const ComparedRun& run) {
  Json row = {{"strategy", run.strategy}, {"precision", run.precision}};
  if (!run.problem.empty()) {
    row["problem"] = run.problem;
    return row;
  }
  row.update({{"workers", run.workers},
              {"seconds", run.seconds},
              {"samples_per_second", run.samples_per_second},
              {"peak_memory_bytes", run.peak_memory_bytes},
              {"busy_ratio", run.busy_ratio},
              {"overlap_ratio", run.overlap_ratio},
              {"loss", run.loss},
              {"accuracy", run.accuracy ? Json(*run.accuracy) : Json(nullptr)}});
  return row;
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

std::string to_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const auto& run : comparison.runs)
    rows.push_back(to_object(run));
  return Json{{"title", comparison.title}, {"runs", rows}}.dump(2, ' ', false,
                                                                Json::error_handler_t::replace) +
         "\n";
}

} // namespace troupe::metrics
