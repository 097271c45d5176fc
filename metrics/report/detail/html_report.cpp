#include "html_report.hpp"

#include "../../readable.hpp"
#include "charts.hpp"
#include "curves.hpp"
#include "html_page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace troupe::metrics {

namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string folded(std::string_view title, std::string_view content) {
  return fmt::format(
      "<section class=\"wide\"><details><summary>{}</summary>{}</details></section>\n", title,
      content);
}

std::string or_dash(const std::optional<double>& value, std::string (*readable)(double)) {
  return value ? readable(*value) : "–";
}

std::string heading(const RunSummary& run) {
  auto text =
      fmt::format("<h1>{}<span class=\"badge {}\">{}</span></h1>\n<p class=\"about\">{} on "
                  "{} · {} · {} · {} worker{} "
                  "· started {} on {} · troupe {}</p>\n",
                  escaped(run.name), escaped(run.status), escaped(run.status), escaped(run.model),
                  escaped(run.dataset), escaped(to_string(run.strategy)), escaped(run.precision),
                  run.world_size, run.world_size == 1 ? "" : "s",
                  fmt::format("{:%Y-%m-%d %H:%M} UTC",
                              fmt::gmtime(std::chrono::system_clock::to_time_t(run.started))),
                  escaped(run.host), escaped(run.version));
  if (!run.error.empty())
    text += fmt::format("<p class=\"error\">{}</p>\n", escaped(run.error));
  return text;
}

std::string tiles(const RunSummary& run) {
  const Facts facts = {{run.accuracy ? "Test accuracy" : "Loss",
                        run.accuracy ? readable_percent(*run.accuracy) : readable_loss(run.loss)},
                       {run.accuracy ? "Loss, last step" : "Test accuracy",
                        run.accuracy ? readable_loss(run.loss) : "–"},
                       {capitalized(run.sample_name) + "/s", readable_rate(run.samples_per_second)},
                       {"Time", readable_seconds(run.seconds)},
                       {"Epochs", readable_count(run.epochs)},
                       {"Steps", readable_count(run.steps)}};
  std::string text = "<dl class=\"tiles\">";
  for (const auto& [name, value] : facts)
    text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
  return text + "</dl>\n";
}

std::string step_time_note(const std::vector<StepRecord>& steps) {
  if (steps.empty())
    return {};
  double waited = 0, all = 0;
  for (const auto& step : steps) {
    waited += step.data_wait_seconds;
    all += step.seconds;
  }
  return fmt::format(
      "half of the steps within {}, 95% within {}; {} of the time spent waiting for data",
      readable_seconds(step_time_quantile(steps, 0.5)),
      readable_seconds(step_time_quantile(steps, 0.95)),
      readable_percent(all > 0 ? waited / all : 0));
}

/// Whether samples have classes; otherwise there is no accuracy to show.
bool has_classes(const std::vector<StepRecord>& steps) {
  return steps.empty() ||
         std::ranges::any_of(steps, [](const auto& step) { return step.accuracy.has_value(); });
}

std::string charts(const ReportInput& input) {
  const auto& history = input.history;
  const auto& samples = input.summary.sample_name;
  return html_section("Loss", svg(loss_chart(history))) +
         (has_classes(history.steps) ? html_section("Accuracy", svg(accuracy_chart(history)))
                                     : "") +
         html_section(capitalized(samples) + "/s", svg(throughput_chart(history, samples))) +
         html_section("Step time", svg(step_time_chart(history)), step_time_note(history.steps)) +
         html_section("Learning rate", svg(learning_rate_chart(history))) +
         html_section("Memory", svg(memory_chart(input.summary.workers)),
                      "the peak of each kind, which need not be at one time");
}

std::string workers(const std::vector<WorkerSummary>& all) {
  const auto bytes = [](std::uint64_t count) { return readable_bytes(static_cast<double>(count)); };
  std::vector<std::vector<std::string>> rows;
  rows.reserve(all.size());
  for (const auto& worker : all)
    rows.push_back({fmt::format("{}", worker.rank), worker.device,
                    readable_percent(worker.busy_ratio), bytes(worker.peak_memory_bytes),
                    bytes(worker.parameter_bytes), bytes(worker.gradient_bytes),
                    bytes(worker.optimizer_bytes)});
  return html_table(
      "workers", {"Rank", "Device", "Busy", "Peak memory", "Parameters", "Gradients", "Optimizer"},
      rows);
}

std::string epochs(const std::vector<EpochRecord>& all) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(all.size());
  for (const auto& epoch : all)
    rows.push_back(
        {fmt::format("{}", epoch.epoch + 1), readable_loss(epoch.train_loss),
         or_dash(epoch.train_accuracy, readable_percent), or_dash(epoch.test_loss, readable_loss),
         or_dash(epoch.test_accuracy, readable_percent), readable_seconds(epoch.seconds)});
  return html_table(
      "epochs",
      {"Epoch", "Training loss", "Training accuracy", "Test loss", "Test accuracy", "Time"}, rows);
}

std::string facts(const RunSummary& run) {
  const Facts all = {
      {"Status", run.status},
      {"Steps",
       run.first_step > 0
           ? fmt::format("{} of {}, resumed at {}", readable_count(run.steps),
                         readable_count(run.total_steps), readable_count(run.first_step))
           : fmt::format("{} of {}", readable_count(run.steps), readable_count(run.total_steps))},
      {"Samples",
       run.unreadable_samples > 0
           ? fmt::format("{}; {} skipped, of {} files that cannot be read",
                         readable_count(run.samples), run.unreadable_samples, run.unreadable_files)
           : readable_count(run.samples)},
      {"Global batch", readable_count(run.batch_size)},
      {"Time", readable_seconds(run.seconds)},
      {"Overlap of collectives", run.world_size > 1 ? readable_percent(run.overlap_ratio) : "–"},
      {"Checkpoints",
       run.checkpoint_failures > 0
           ? fmt::format("{}, and {} that failed", run.checkpoints, run.checkpoint_failures)
           : fmt::format("{}", run.checkpoints)},
      {"SHA-256 of parameters", run.parameters_sha256}};
  std::string text = "<table class=\"facts\">";
  for (const auto& [name, value] : all)
    text += fmt::format("<tr><th>{}</th><td>{}</td></tr>", name, escaped(value));
  return text + "</table>";
}

} // namespace

std::string html_report(const ReportInput& input) {
  const auto& run = input.summary;
  return html_page(run.name, heading(run) + tiles(run) + "<div class=\"grid\">\n" + charts(input) +
                                 html_section("Workers", workers(run.workers), {}, true) +
                                 html_section("Run", facts(run), {}, true) +
                                 folded("Epochs", epochs(input.history.epochs)) +
                                 folded("Config", "<pre>" + escaped(input.config) + "</pre>") +
                                 "</div>\n");
}

} // namespace troupe::metrics
