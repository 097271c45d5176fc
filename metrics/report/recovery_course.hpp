/// The changes of a run's membership, the last of them where there are very many.
#pragma once

#include "../step_record.hpp"

#include <cstddef>
#include <deque>

namespace troupe::metrics {

class RecoveryCourse {
public:
  static constexpr std::size_t most_recoveries = 50;

  void add(const RecoveryRecord& recovery) {
    recoveries_.push_back(recovery);
    if (recoveries_.size() > most_recoveries)
      recoveries_.pop_front();
  }
  const std::deque<RecoveryRecord>& recoveries() const { return recoveries_; }

private:
  std::deque<RecoveryRecord> recoveries_;
};

} // namespace troupe::metrics
