/// The best evaluation of a run, from its epochs.jsonl.
#pragma once

#include "metrics/step_record.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace troupe::metrics {

enum class BestBy : std::uint8_t { accuracy, loss };

/// The first of the epochs with the highest test accuracy, or the lowest test loss. Epochs of a run
/// without accuracies are compared by loss. Nothing where no epoch was evaluated. Blocks on a file.
std::optional<EpochRecord> read_best_epoch(const std::filesystem::path& run,
                                           BestBy by = BestBy::accuracy);

/// "test accuracy 91.2%"; of a run without accuracies, or compared by loss, "test loss 1.234" or,
/// of texts, "test perplexity 6.21".
std::string format_result(const RunInfo& run, const EpochRecord& epoch,
                          BestBy by = BestBy::accuracy);

/// "best: epoch 2, test accuracy 91.2%, checkpoint FOLDER", with the checkpoint of that epoch where
/// it was kept. Empty where no epoch was evaluated. Blocks on files.
std::string describe_best(const std::filesystem::path& folder, const RunInfo& run, BestBy by);

} // namespace troupe::metrics
