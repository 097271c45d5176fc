/// The values of names.hpp, kept for one run, and as the text that Prometheus reads.
#pragma once

#include "step_record.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace troupe::metrics {

/// Totals since the process began, of all actors of one role.
struct MailboxSample {
  std::string actor;
  std::int64_t size = 0; ///< messages that wait now
  std::int64_t messages = 0;
  double seconds = 0; ///< that messages waited
  double processing_seconds = 0;
};

/// Any thread may call anything.
class Registry {
public:
  explicit Registry(const RunInfo& run);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry();

  void record(const StepRecord& step);
  void record(const EpochRecord& epoch);
  void record(const WorkerSummary& worker);
  void record(const MailboxSample& sample);
  void record_checkpoint(std::int64_t step, double seconds);
  void record_checkpoint_failure();
  void set_ready(bool ready);

  /// Prometheus text format 0.0.4.
  std::string text() const;

private:
  struct Values;
  std::unique_ptr<Values> values_;
};

} // namespace troupe::metrics
