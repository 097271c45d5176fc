/// Which slices are dealt, where each goes to whoever comes free: the book of asynchronous
/// training. A class of values, without actors or clocks.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace troupe::data {

/// A slice of a step's global batch that somebody computes.
struct Lease {
  std::int64_t step = 0;
  int slice = 0;
  bool operator==(const Lease&) const = default;
};

/// Slices are dealt in order, step by step, to whoever asks, up to a limit. Where that stays s + 1
/// steps ahead of those that are applied, each slice reads parameters that lack at most s of the
/// steps before its own (stale synchronous parallel: Ho et al., "More Effective Distributed ML via
/// a Stale Synchronous Parallel Parameter Server", NeurIPS 2013). As a slice is dealt when somebody
/// is free, who is slow holds up the others only if his one slice takes longer than they need for
/// all that they may go ahead.
class Ledger {
public:
  Ledger(int slices, std::int64_t first_step)
      : slices_{slices}, limit_{first_step}, next_{first_step}, applied_{first_step} {}

  /// Slices of steps below it may be dealt; it never falls.
  void grant(std::int64_t limit) { limit_ = limit; }
  /// The next slice; nothing while it may not be dealt.
  std::optional<Lease> deal();
  /// A slice that was dealt is computed; whether it was the last of its step. Precondition: it was
  /// dealt and has not come.
  bool come(const Lease& lease);
  /// Whether all slices of the first step that is not applied have come.
  bool is_complete() const { return !missing_.empty() && missing_.front() == 0; }
  /// The first step that was not applied is. Precondition: is_complete().
  void apply();

  std::int64_t applied() const { return applied_; }
  /// Dealt, and not come.
  std::int64_t under_way() const { return under_way_; }

private:
  int slices_;
  std::int64_t limit_;
  Lease next_;
  std::int64_t applied_;    ///< steps
  std::deque<int> missing_; ///< slices, of the steps from applied_ on that have been begun
  std::int64_t under_way_ = 0;
};

} // namespace troupe::data
