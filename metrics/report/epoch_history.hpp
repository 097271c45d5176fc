/// The epochs of a run, thinned out evenly if there are very many.
#pragma once

#include "metrics/records/epoch.hpp"
#include "metrics/records/run.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::metrics {

class EpochHistory {
public:
  static constexpr std::size_t most_epochs = 600;

  void add(const EpochRecord& epoch);
  /// In order; always includes the last one.
  std::vector<EpochRecord> epochs() const;

private:
  std::vector<EpochRecord> chosen_; ///< each `every_`th
  std::optional<EpochRecord> last_; ///< if not in `chosen_`
  std::int64_t count_ = 0, every_ = 1;
};

/// The last step of an epoch. If the record has none (earlier versions), computes it from the run's
/// plan, which may end within the last epoch.
std::int64_t last_step_of(const EpochRecord& epoch, const RunInfo& run);

} // namespace troupe::metrics
