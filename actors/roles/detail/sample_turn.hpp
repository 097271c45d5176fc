/// COORDINATOR's samples of text.
#pragma once

#include <cstdint>
#include <utility>

namespace troupe::actors {

/// There is memory for one sample. What comes while it is gathered or written has to wait.
class SampleTurn {
public:
  /// `last`: number of steps after which the last sample was written; -1: there is none.
  explicit SampleTurn(std::int64_t last) : last_{last} {}

  bool is_busy() const { return is_busy_; }
  /// Whether the sample after this number of steps was begun.
  bool has(std::int64_t steps) const { return last_ == steps; }
  /// Returns false if the last sample is not written yet: then a sample waits for it.
  bool begin() {
    sample_waits_ = is_busy_;
    return !std::exchange(is_busy_, true);
  }
  /// All parameters for the sample were gathered.
  void gathered(std::int64_t steps) { last_ = steps; }
  /// Returns whether the job's end waits for a sample.
  bool delays_end() { return end_waits_ = is_busy_; }
  /// The sample was written, or has failed.
  void ended() { is_busy_ = false; }
  // What has waited for it.
  bool take_sample() { return std::exchange(sample_waits_, false); }
  bool take_end() { return std::exchange(end_waits_, false); }

private:
  std::int64_t last_;
  bool is_busy_ = false, sample_waits_ = false, end_waits_ = false;
};

} // namespace troupe::actors
