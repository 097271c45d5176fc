/// Finds the best evaluation of a run in its epochs.jsonl.
#pragma once

#include "metrics/records/epoch.hpp"
#include "metrics/records/run.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace troupe::metrics {

enum class BestBy : std::uint8_t { accuracy, loss };

/// Returns the epoch with the highest test accuracy or the lowest test loss, the first one of
/// equals. Compares epochs without accuracies by loss. Empty if no epoch was evaluated. Blocks on a
/// file.
std::optional<EpochRecord> read_best_epoch(const std::filesystem::path& run,
                                           BestBy by = BestBy::accuracy);

/// "test accuracy 91.2%". Without accuracies, or by loss: "test loss 1.234", or for texts "test
/// perplexity 6.21".
std::string format_result(const RunInfo& run, const EpochRecord& epoch,
                          BestBy by = BestBy::accuracy);

/// "best: epoch 2, test accuracy 91.2%, checkpoint FOLDER", or that its checkpoint was not kept.
/// Empty if no epoch was evaluated. Blocks on files.
std::string describe_best(const std::filesystem::path& folder, const RunInfo& run, BestBy by);

} // namespace troupe::metrics
