/// Predicts all samples of a data set, in order. Reads the next batches while one is computed, and
/// keeps only a few in memory.
#pragma once

#include "inference/predictor.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace troupe::inference {

/// The model's outputs for one sample.
struct SamplePrediction {
  std::int64_t sample = 0; ///< index in the data set
  std::span<const float> outputs;
  /// Indices of the largest outputs, largest first, as many as requested.
  std::span<const std::int32_t> ranked;
  std::optional<Error> error = {}; ///< unreadable sample; other fields are empty
};

/// Totals over the samples that could be read and have a label or targets.
struct Score {
  std::int64_t samples = 0;    ///< in all
  std::int64_t unreadable = 0; ///< of these
  std::int64_t counted = 0;
  std::optional<std::int64_t> correct;      ///< if targets are classes
  std::optional<std::int64_t> correct_top5; ///< if there are more than five classes
  double loss_sum = 0;

  std::optional<double> loss() const { return share(loss_sum); }
  std::optional<double> accuracy() const { return correct ? share(*correct) : std::nullopt; }
  std::optional<double> top5() const { return correct_top5 ? share(*correct_top5) : std::nullopt; }

private:
  template <class Count>
  std::optional<double> share(Count count) const {
    return counted > 0 ? std::optional{static_cast<double>(count) / static_cast<double>(counted)}
                       : std::nullopt;
  }
};

/// Called in order, while the next batch is computed. An error ends the prediction.
using OnPrediction = std::function<Status(const SamplePrediction& prediction)>;

/// Reads and predicts the samples of `adapter`. `each` also receives unreadable samples. `top`:
/// number of ranked outputs. Blocks. Errors: those of the device and of `each`.
Result<Score> predict(Predictor& predictor, const data::AdapterPtr& adapter, std::int64_t top,
                      const OnPrediction& each);

} // namespace troupe::inference
