/// The epochs of a run, evenly chosen where there are very many.
#pragma once

#include "metrics/step_record.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::metrics {

class EpochHistory {
public:
  static constexpr std::size_t most_epochs = 600;

  void add(const EpochRecord& epoch);
  /// In their order, the last one always among them.
  std::vector<EpochRecord> epochs() const;

private:
  std::vector<EpochRecord> chosen_; ///< each `every_`th
  std::optional<EpochRecord> last_; ///< where it is not chosen
  std::int64_t count_ = 0, every_ = 1;
};

/// The last step of an epoch. In records of earlier versions it follows from the run's plan, which
/// may cut the last epoch short.
std::int64_t last_step_of(const EpochRecord& epoch, const RunInfo& run);

} // namespace troupe::metrics
