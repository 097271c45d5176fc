/// Who computes which slices of a global batch.
#pragma once

#include "sampler.hpp"

#include <cstdint>
#include <optional>

namespace troupe::data {

/// Each rank has a run of neighbouring slices, rank 0 the first; runs differ by one slice at most.
/// A step has as many passes as the longest run. A rank whose run is shorter begins its steps with
/// empty passes, in which it meets the others and computes nothing: so that what it computes last
/// can travel while it is computed.
///
/// Passes are counted from the first step of the job. A small value.
class Dealing {
public:
  Dealing() = default;
  /// Precondition: both are above 0. With fewer slices than ranks some have none.
  Dealing(int slices, int world_size) : slices_{slices}, world_size_{world_size} {}

  int slices() const { return slices_; }
  int world_size() const { return world_size_; }
  /// Of a step, also those that are empty for some.
  int passes() const { return (slices_ + world_size_ - 1) / world_size_; }
  std::int64_t step_of(std::int64_t pass) const { return pass / passes(); }
  bool ends_step(std::int64_t pass) const { return (pass + 1) % passes() == 0; }
  bool is_even() const { return slices_ % world_size_ == 0; }

  /// Whether the rank has slice 0, whose running statistics are the job's, and others that make
  /// their own.
  bool keeps_statistics(int rank) const {
    const auto count = slices_of(rank);
    return count > 1 && first(rank) == 0;
  }

  int slices_of(int rank) const { return first(rank + 1) - first(rank); }
  /// Where the pass stands among those of its step that are not empty for the rank, from 0; below
  /// 0: it is empty.
  int turn(int rank, std::int64_t pass) const {
    return static_cast<int>(pass % passes()) - (passes() - slices_of(rank));
  }
  /// Empty: in an empty pass.
  std::optional<Slice> slice(int rank, std::int64_t pass) const {
    const auto own = turn(rank, pass);
    return own < 0 ? std::nullopt : std::optional{Slice{first(rank) + own, slices_}};
  }

private:
  /// Of a rank's slices; of the rank behind the last: behind all.
  int first(int rank) const { return static_cast<int>(std::int64_t{slices_} * rank / world_size_); }

  int slices_ = 1, world_size_ = 1;
};

} // namespace troupe::data
