/// Maps the slices of a global batch to ranks.
#pragma once

#include "data/sampler.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::data {

/// Each rank has a run of neighbouring slices; rank 0 has the first. A step has as many passes as
/// the longest run. A rank with a shorter run begins its steps with empty passes, in which it
/// synchronizes with the others and computes nothing. So its gradients are sent while it computes
/// its last slices.
///
/// Holds from first_step(), whose first pass is first_pass(). Passes are counted from the first
/// step of the job. When an assignment follows another one, its pass numbers differ from those of
/// all passes that have begun.
class SliceAssignment {
public:
  SliceAssignment() : SliceAssignment{1, 1} {}
  /// Assigns slices evenly; runs differ by at most one slice. Some ranks have none if there are
  /// fewer slices than ranks. Precondition: both arguments are above 0.
  SliceAssignment(int slices, int world_size);
  /// Assigns counts[rank] slices to each rank. Precondition: can_be_counts(counts).
  explicit SliceAssignment(std::span<const int> counts, std::int64_t first_step = 0,
                           std::int64_t first_pass = 0);
  /// Assigns each slice to the next free rank; a pass is one slice of any rank.
  static SliceAssignment on_demand(int slices, int world_size);
  /// Returns the assignment that replaces this one from `step` on.
  SliceAssignment followed_by(std::span<const int> counts, std::int64_t step) const;
  /// Whether no count is negative, and at least one is positive.
  static bool can_be_counts(std::span<const int> counts);

  std::int64_t first_step() const { return first_step_; }
  std::int64_t first_pass() const { return first_pass_; }
  int slices() const { return firsts_.back(); }
  int world_size() const { return static_cast<int>(firsts_.size()) - 1; }
  /// Returns the number of passes in a step, including those that are empty on some ranks.
  int passes() const { return passes_; }
  std::int64_t step_of(std::int64_t pass) const {
    return first_step_ + (pass - first_pass_) / passes_;
  }
  /// Returns the first pass of a step.
  std::int64_t pass_of(std::int64_t step) const {
    return first_pass_ + (step - first_step_) * passes_;
  }
  /// Returns the index of the pass within its step, from 0.
  int place(std::int64_t pass) const { return static_cast<int>((pass - first_pass_) % passes_); }
  bool begins_step(std::int64_t pass) const { return place(pass) == 0; }
  bool ends_step(std::int64_t pass) const { return place(pass) + 1 == passes_; }
  bool is_even() const;
  bool is_on_demand() const { return on_demand_; }

  /// Returns whether the rank has slice 0, whose running statistics are the job's, and also other
  /// slices, which update their own statistics.
  bool keeps_statistics(int rank) const {
    const auto count = slices_of(rank);
    return count > 1 && first(rank) == 0;
  }

  /// Returns the number of slices of a rank. On demand, these are all slices, because the rank may
  /// get any.
  int slices_of(int rank) const { return on_demand_ ? slices() : first(rank + 1) - first(rank); }
  /// Returns the number of slices of ranks [k * size, (k + 1) * size), one of which is `rank`. Not
  /// on demand.
  int slices_of_group(int rank, int size) const {
    return first((rank / size + 1) * size) - first(rank / size * size);
  }
  std::vector<int> counts() const;
  /// Returns the index of the pass among the non-empty passes of its step on this rank, from 0;
  /// negative if the pass is empty.
  int local_index(int rank, std::int64_t pass) const {
    return place(pass) - (passes_ - slices_of(rank));
  }
  /// Returns the slice of a rank in a pass; nothing if the pass is empty.
  std::optional<Slice> slice(int rank, std::int64_t pass) const {
    const auto own = local_index(rank, pass);
    return own < 0 ? std::nullopt
                   : std::optional{Slice{(on_demand_ ? 0 : first(rank)) + own, slices()}};
  }

  /// For messages. An assignment on demand is never sent.
  template <class Inspector>
  friend bool inspect(Inspector& f, SliceAssignment& x) {
    auto get = [&x] { return x.counts(); };
    auto set = [&x](const std::vector<int>& counts) {
      if (!can_be_counts(counts))
        return false;
      x = SliceAssignment{counts};
      return true;
    };
    return f.object(x).fields(f.field("counts", get, set), f.field("step", x.first_step_),
                              f.field("pass", x.first_pass_));
  }

private:
  /// First slice of `rank`; for `world_size`, one past the end.
  int first(int rank) const { return firsts_[static_cast<std::size_t>(rank)]; }

  std::vector<int> firsts_ = {0};
  int passes_ = 1;
  bool on_demand_ = false;
  std::int64_t first_step_ = 0, first_pass_ = 0;
};

} // namespace troupe::data
