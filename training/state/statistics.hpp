/// Running statistics of batch norms on a rank, and copies of them.
#pragma once

#include "training/state/bucket_memory.hpp"
#include "training/state/state_layout.hpp"

#include <cstdint>

namespace troupe::training {

class Statistics {
public:
  /// `layout` must outlive the statistics.
  Statistics(Device& device, const StateLayout& layout) : device_{device}, layout_{layout} {}
  /// Call once, before all others. Errors: out_of_memory.
  Status allocate(const StateOptions& options);
  /// Number of steps whose committed() statistics are kept: the in-flight steps, and the step
  /// before them, which remains the last committed one if none of them gets all votes. Asynchronous
  /// training keeps twice as many, because a rank may still read the statistics of an older step.
  static std::int64_t turns(const Strategy& strategy);

  float* values() const { return values_->floats(); }
  std::size_t elements() const { return layout_.storage().statistic_elements; }
  BucketMemory memory() const { return {{0, elements()}, values(), elements()}; }

  /// Enqueues: keep stores the statistics, restore restores them. Only with
  /// StateOptions::keeps_statistics.
  bool keeps() const { return kept_ != nullptr; }
  void keep(Stream& stream) const { copy(stream, kept_->floats(), values()); }
  void restore(Stream& stream) const { copy(stream, values(), kept_->floats()); }

  /// Statistics of slice 0 after a committed step, on every rank; step -1 stands for the loaded
  /// ones. On CUDA, work that a rank enqueued after a failed step may still run; it writes only the
  /// statistics of later steps. Only with StateOptions::commits_statistics.
  bool commits() const { return committed_ != nullptr; }
  float* committed(std::int64_t step) const;
  /// Enqueues a copy of this rank's statistics to those of `step`, or of all steps.
  void commit(Stream& stream, std::int64_t step) const;
  void commit_all(Stream& stream) const;
  /// Enqueues a copy of the statistics of `step` to this rank's.
  void revert(Stream& stream, std::int64_t step) const;

private:
  void copy(Stream& stream, float* to, const float* from) const {
    device_.copy(stream, to, from, elements() * sizeof(float));
  }

  Device& device_;
  const StateLayout& layout_;
  BufferPtr values_, kept_, committed_;
};

} // namespace troupe::training
