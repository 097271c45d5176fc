/// Who computes which slices of a global batch.
#pragma once

#include "data/sampler.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::data {

/// Each rank has a run of neighbouring slices, rank 0 the first. A step has as many passes as the
/// longest run. A rank whose run is shorter begins its steps with empty passes, in which it meets
/// the others and computes nothing: so that what it computes last can travel while it is computed.
///
/// Passes are counted from the first step of the job on; where another dealing follows on one, its
/// passes have other numbers than any that was begun before.
class SliceAssignment {
public:
  SliceAssignment() : SliceAssignment{1, 1} {}
  /// Runs differ by one slice at most. Precondition: both are above 0. With fewer slices than ranks
  /// some have none.
  SliceAssignment(int slices, int world_size);
  /// So many to each rank. Precondition: one of them has some, and none less than none.
  explicit SliceAssignment(std::span<const int> counts);
  /// Each slice to whoever comes free: a pass is a slice, of any rank.
  static SliceAssignment on_demand(int slices, int world_size);
  /// The one that follows on this from a step on, whose first pass is that.
  SliceAssignment followed_by(std::span<const int> counts, std::int64_t step,
                              std::int64_t pass) const;

  int slices() const { return firsts_.back(); }
  int world_size() const { return static_cast<int>(firsts_.size()) - 1; }
  /// Of a step, also those that are empty for some.
  int passes() const { return passes_; }
  std::int64_t step_of(std::int64_t pass) const {
    return first_step_ + (pass - first_pass_) / passes_;
  }
  /// The first of a step.
  std::int64_t pass_of(std::int64_t step) const {
    return first_pass_ + (step - first_step_) * passes_;
  }
  /// Where the pass stands among those of its step, from 0.
  int place(std::int64_t pass) const { return static_cast<int>((pass - first_pass_) % passes_); }
  bool begins_step(std::int64_t pass) const { return place(pass) == 0; }
  bool ends_step(std::int64_t pass) const { return place(pass) + 1 == passes_; }
  bool is_even() const;
  bool is_on_demand() const { return on_demand_; }

  /// Whether the rank has slice 0, whose running statistics are the job's, and others that make
  /// their own.
  bool keeps_statistics(int rank) const {
    const auto count = slices_of(rank);
    return count > 1 && first(rank) == 0;
  }

  /// Leased: those that it may come to have.
  int slices_of(int rank) const { return on_demand_ ? slices() : first(rank + 1) - first(rank); }
  std::vector<int> counts() const;
  /// Where the pass stands among those of its step that are not empty for the rank, from 0; below
  /// 0: it is empty.
  int turn(int rank, std::int64_t pass) const { return place(pass) - (passes_ - slices_of(rank)); }
  /// Empty: in an empty pass.
  std::optional<Slice> slice(int rank, std::int64_t pass) const {
    const auto own = turn(rank, pass);
    return own < 0 ? std::nullopt
                   : std::optional{Slice{(on_demand_ ? 0 : first(rank)) + own, slices()}};
  }

private:
  /// Of a rank's slices; of the rank behind the last: behind all.
  int first(int rank) const { return firsts_[static_cast<std::size_t>(rank)]; }

  std::vector<int> firsts_ = {0};
  int passes_ = 1;
  bool on_demand_ = false;
  std::int64_t first_step_ = 0, first_pass_ = 0;
};

/// How many slices each rank takes, so that the last to be done is done as early as can be, where a
/// slice takes a rank so many seconds: each in turn goes to whoever would be done with it first,
/// the first one to rank 0, as its running statistics are the job's. Each has at least so many, 0
/// or 1. Precondition: seconds are above 0, and there are enough slices.
std::vector<int> balanced_by_speed(int slices, std::span<const double> seconds, int least = 0);

} // namespace troupe::data
