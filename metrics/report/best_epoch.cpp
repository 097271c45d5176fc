#include "metrics/report/best_epoch.hpp"

#include "core/checkpoint/store.hpp"
#include "metrics/number_format.hpp"
#include "metrics/report/epoch_history.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"
#include "metrics/text_figures.hpp"

#include <fmt/format.h>

namespace troupe::metrics {

namespace {

bool is_better(const EpochRecord& a, const EpochRecord& b, BestBy by) {
  if (by == BestBy::accuracy && a.test_accuracy && b.test_accuracy)
    return *a.test_accuracy > *b.test_accuracy;
  return *a.test_loss < *b.test_loss;
}

/// The checkpoint after this number of steps; empty: it was not kept.
std::string checkpoint_of(const std::filesystem::path& run, std::int64_t steps) {
  for (const auto& entry : CheckpointStore{run / "checkpoints"}.list())
    if (entry.step == steps)
      return entry.path.string();
  return {};
}

} // namespace

std::optional<EpochRecord> read_best_epoch(const std::filesystem::path& run, BestBy by) {
  std::optional<EpochRecord> best;
  for_each_line(run / run_files::epochs, [&](std::string_view line) {
    const auto epoch = parse_epoch(line);
    if (epoch && epoch->test_loss && (!best || is_better(*epoch, *best, by)))
      best = epoch;
    return true;
  });
  return best;
}

std::string format_result(const RunInfo& run, const EpochRecord& epoch, BestBy by) {
  if (by == BestBy::accuracy && epoch.test_accuracy)
    return "test accuracy " + format_percent(*epoch.test_accuracy);
  if (const auto found = perplexity(run, epoch.test_loss))
    return "test perplexity " + format_perplexity(*found);
  return "test loss " + format_loss(epoch.test_loss.value_or(0));
}

std::string describe_best(const std::filesystem::path& folder, const RunInfo& run, BestBy by) {
  const auto best = read_best_epoch(folder, by);
  if (!best)
    return {};
  const auto checkpoint = checkpoint_of(folder, last_step_of(*best, run) + 1);
  return fmt::format("best: epoch {}, {}, {}", best->epoch + 1, format_result(run, *best, by),
                     checkpoint.empty() ? "its checkpoint was not kept (see checkpoint.best)"
                                        : "checkpoint " + checkpoint);
}

} // namespace troupe::metrics
