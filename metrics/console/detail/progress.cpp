#include "metrics/console/detail/progress.hpp"

#include "metrics/number_format.hpp"
#include "metrics/text_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace troupe::metrics {

namespace {

constexpr std::ptrdiff_t least_bar = 10, most_bar = 40;

struct Parts {
  std::string place, loss, left, rate, quality, mfu;
};

std::string quality_of(const EpochProgress& progress) {
  const auto& recent = progress.recent;
  if (const auto accuracy = recent.accuracy())
    return "accuracy " + format_percent(*accuracy);
  const auto found = perplexity(progress.run, recent.loss());
  return found ? "perplexity " + format_perplexity(*found) : "";
}

std::string text_of_mfu(const EpochProgress& progress) {
  const auto mfu = progress.recent.mfu();
  if (!mfu)
    return "";
  auto text = "MFU " + format_mfu(*mfu);
  if (const auto reached =
          operations_per_second(progress.run, progress.recent.samples_per_second()))
    text += ", " + format_operations(*reached);
  return text;
}

Parts parts_of(const EpochProgress& progress) {
  const auto& recent = progress.recent;
  const auto left = static_cast<double>(progress.steps_left) * recent.seconds_per_step();
  const auto [rate, what] = throughput(progress.run, recent.samples_per_second());
  return {.place = fmt::format("{}/{}", progress.step, progress.steps),
          .loss = "loss " + format_loss(recent.loss()),
          .left = format_clock(left) + " left",
          .rate = fmt::format("{} {}/s", format_rate(rate), what),
          .quality = quality_of(progress),
          .mfu = text_of_mfu(progress)};
}

std::vector<std::string> present(std::vector<std::string> parts) {
  std::erase(parts, "");
  return parts;
}

std::string epoch_of(const EpochProgress& progress) {
  return fmt::format("epoch {}/{}", progress.epoch, progress.epochs);
}

std::string bar(const EpochProgress& progress, std::ptrdiff_t length) {
  const auto inner = length - 2;
  const auto done = progress.steps > 0 ? inner * progress.step / progress.steps : 0;
  std::string text(static_cast<std::size_t>(inner), ' ');
  std::fill_n(text.begin(), done, '=');
  if (done < inner)
    text[static_cast<std::size_t>(done)] = '>';
  return "[" + text + "]";
}

} // namespace

EpochProgress progress_after(const RunInfo& run, const StepRecord& step,
                             const RecentSteps& recent) {
  const auto done = step.step + 1;
  const auto each = std::max<std::int64_t>(1, run.steps_per_epoch);
  const auto before = step.epoch * each;
  return {.epoch = step.epoch + 1,
          .epochs = (run.total_steps + each - 1) / each,
          .step = done - before,
          .steps = std::min(each, run.total_steps - before), // max_steps may end within an epoch
          .steps_left = std::max<std::int64_t>(0, run.total_steps - done),
          .recent = recent,
          .run = run};
}

std::string progress_bar(const EpochProgress& progress, int width) {
  const auto [place, loss, left, rate, quality, mfu] = parts_of(progress);
  const auto epoch = epoch_of(progress);
  for (const auto& rest :
       {fmt::format("{}", fmt::join(present({place, loss, quality, rate, mfu, left}), "  ")),
        fmt::format("{}", fmt::join(present({place, loss, quality, rate, left}), "  ")),
        fmt::format("{}  {}  {}  {}", place, loss, rate, left),
        fmt::format("{}  {}  {}", place, loss, left), fmt::format("{}  {}", place, loss)}) {
    const auto room = width - 1 - std::ssize(epoch) - 2 - std::ssize(rest);
    if (room >= least_bar)
      return fmt::format("{} {} {}", epoch, bar(progress, std::min(room, most_bar)), rest);
  }
  for (const auto& text :
       {fmt::format("{} {}  {}", epoch, place, loss), fmt::format("{} {}", epoch, place), place})
    if (std::ssize(text) < width)
      return text;
  return {};
}

std::string progress_line(const EpochProgress& progress) {
  const auto [place, loss, left, rate, quality, mfu] = parts_of(progress);
  return fmt::format("{}  step {}", epoch_of(progress),
                     fmt::join(present({place, loss, quality, rate, mfu, left}), "  "));
}

} // namespace troupe::metrics
