#include "metrics/console/console.hpp"

#include "core/escape.hpp"
#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/text_figures.hpp"
#include "metrics/time_stamp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe::metrics {

namespace {

using namespace std::chrono_literals;
using Json = OrderedJson;

constexpr auto bar_pause = 100ms;
constexpr auto line_pause = 5s;
constexpr auto object_pause = 1s;

/// Returns the JSON of a record, with the members of every log line before it and `more` after it.
std::string event(std::string_view name, const std::string& record, std::string_view level = "info",
                  const Json& more = Json::object()) {
  Json object = {{"time", utc_milliseconds(std::chrono::system_clock::now())},
                 {"level", level},
                 {"event", name}};
  object.update(Json::parse(record));
  object.update(more);
  return object.dump();
}

/// Progress of the run, without the values of the step.
Json json_of(const EpochProgress& progress) {
  const auto& recent = progress.recent;
  return {{"total_steps", progress.run.total_steps},
          {"epochs", progress.epochs},
          {"samples_per_second", recent.samples_per_second()},
          {"seconds_left", static_cast<double>(progress.steps_left) * recent.seconds_per_step()}};
}

std::string json_of(const RunInfo& run) {
  return dumped({{"name", run.name},
                 {"model", run.model},
                 {"dataset", run.dataset},
                 {"strategy", to_string(run.strategy)},
                 {"precision", run.precision},
                 {"world_size", run.world_size},
                 {"batch_size", run.batch_size},
                 {"steps_per_epoch", run.steps_per_epoch},
                 {"total_steps", run.total_steps},
                 {"first_step", run.first_step}});
}

std::string opening(const RunInfo& run) {
  auto text =
      fmt::format("{}: {} on {}, {} of {} samples, {} with {}, {}", run.name, run.model,
                  run.dataset, counted(run.total_steps, "step"), format_count(run.batch_size),
                  to_string(run.strategy), counted(run.world_size, "worker"), run.precision);
  if (run.first_step > 0)
    text += fmt::format("; resumes after step {}", format_count(run.first_step));
  return text;
}

std::string line_of(const EpochRecord& epoch, const RunInfo& run) {
  const auto each = std::max<std::int64_t>(1, run.steps_per_epoch);
  auto text = fmt::format("epoch {}/{}: loss {}", epoch.epoch + 1,
                          (run.total_steps + each - 1) / each, format_loss(epoch.train_loss));
  if (epoch.train_accuracy)
    text += ", accuracy " + format_percent(*epoch.train_accuracy);
  if (epoch.test_loss)
    text += ", test loss " + format_loss(*epoch.test_loss);
  if (const auto found = perplexity(run, epoch.test_loss))
    text += ", test perplexity " + format_perplexity(*found);
  if (epoch.test_accuracy)
    text += ", test accuracy " + format_percent(*epoch.test_accuracy);
  return text + ", " + format_seconds(epoch.seconds);
}

std::string line_of_skipped(const StepRecord& step) {
  return fmt::format("step {}: skipped, because gradients are not finite ({} skipped so far); the "
                     "loss scale is now {:g}",
                     step.step + 1, counted(step.skipped_steps.value_or(0), "step"),
                     step.loss_scale.value_or(1));
}

/// Escapes control characters, so that the text takes one line.
std::string line_of(const GeneratedRecord& generated) {
  return fmt::format("step {} generates: {}", format_count(generated.step),
                     escaped(generated.prompt + generated.text));
}

std::string closing(const RunSummary& run) {
  auto text =
      fmt::format("{}: {} after {}, {}", run.name, run.status,
                  format_steps(run.steps, run.steps_per_epoch), format_seconds(run.seconds));
  if (const auto [rate, what] = throughput(run, run.samples_per_second); rate > 0)
    text += fmt::format(", {} {}/s", format_rate(rate), what);
  if (run.steps > 0)
    text += fmt::format(", loss {}", format_loss(run.loss));
  if (run.accuracy)
    text += fmt::format(", test accuracy {}", format_percent(*run.accuracy));
  if (const auto found = perplexity(run, run.test_loss))
    text += ", test perplexity " + format_perplexity(*found);
  if (run.checkpoint_failures > 0)
    text += fmt::format(", {} not written", counted(run.checkpoint_failures, "checkpoint"));
  return text;
}

} // namespace

bool Console::has_bar() const {
  return screen_.has_bar() && !is_json();
}

std::chrono::steady_clock::duration Console::pause() const {
  return has_bar() ? std::chrono::steady_clock::duration{bar_pause}
                   : (is_json() ? object_pause : line_pause);
}

void Console::go_on(const RunInfo& run) {
  run_ = run;
  recent_ = {};
  skipped_ = run.first_step == 0 ? std::optional<std::int64_t>{0} : std::nullopt;
  next_ = options_.now() + (has_bar() || is_json() ? 0s : line_pause);
}

void Console::begin(const RunInfo& run) {
  go_on(run);
  if (!options_.quiet)
    write(is_json() ? event("run", json_of(run)) : opening(run));
}

void Console::record(const StepRecord& step) {
  recent_.add(step);
  if (options_.quiet)
    return;
  show_skipped(step);
  const auto now = options_.now();
  if (now < next_)
    return;
  const auto progress = progress_after(run_, step, recent_);
  if (is_json())
    write(event("step", to_json(step), "info", json_of(progress)));
  else if (has_bar())
    screen_.show_bar(progress_bar(progress, screen_.width()));
  else
    write(progress_line(progress));
  next_ = now + pause();
}

/// Reports with decreasing frequency: many steps are skipped while the scale settles, or if the run
/// is in trouble.
void Console::show_skipped(const StepRecord& step) {
  const auto now = step.skipped_steps.value_or(0);
  const auto before = std::exchange(skipped_, now).value_or(now);
  const auto level = [](std::int64_t count) {
    return std::bit_width(static_cast<std::uint64_t>(count));
  };
  if (level(now) == level(before))
    return;
  write(is_json() ? event("skipped", to_json(step), "warning") : line_of_skipped(step));
}

void Console::record(const EpochRecord& epoch) {
  if (options_.quiet)
    return;
  write(is_json() ? event("epoch", to_json(epoch)) : line_of(epoch, run_));
}

void Console::record(const GeneratedRecord& generated) {
  if (options_.quiet)
    return;
  write(is_json() ? event("generated", to_json(generated)) : line_of(generated));
}

void Console::end(const RunSummary& summary, std::string_view report, std::string_view best) {
  screen_.show_bar({});
  if (is_json())
    return write(event("end", to_json(summary), summary.status == "failed" ? "error" : "info"));
  const auto target = summary.status == "failed" ? Screen::Target::err : Screen::Target::out;
  screen_.write_line(target, closing(summary));
  if (!summary.error.empty())
    screen_.write_line(target, "error: " + escaped_lines(summary.error));
  if (!report.empty())
    screen_.write_line(target, fmt::format("report: {}", report));
  if (!best.empty())
    screen_.write_line(target, std::string{best});
}

} // namespace troupe::metrics
