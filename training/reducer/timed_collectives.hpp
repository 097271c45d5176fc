/// Collectives on a rank's communication stream, with their times, bytes and spans in the timeline.
#pragma once

#include "metrics/trace.hpp"
#include "training/rank_state.hpp"
#include "training/reducer/step_work.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

namespace troupe::training {

class TimedCollectives {
public:
  TimedCollectives(std::shared_ptr<RankState> rank_state, metrics::Track row);

  /// Enqueues a collective by `call`. `of`: name of the values that are sent, unless they are a
  /// bucket.
  void run(collectives::Communicator& communicator, metrics::CollectiveKind kind, std::size_t bytes,
           StepWork& done, const std::function<void()>& call, std::string_view of = "") const;
  void all_reduce(collectives::Communicator& group, const collectives::Values& values,
                  StepWork& done, std::string_view of) const;
  /// From rank 0 to all ranks.
  void broadcast(const collectives::Values& values, StepWork& done, std::string_view of = "") const;

  /// Returns where values are sent from and received: in place or, in a narrower type, at an
  /// element of the send buffer. `narrow` and `widen` enqueue the conversion, if there is one.
  collectives::Values as_sent(float* values, std::size_t elements, DType type,
                              std::size_t place = 0) const;
  void narrow(const float* values, const collectives::Values& to) const;
  void widen(const collectives::Values& sent, float* to) const;

private:
  Stream& stream() const { return *rank_state_->communication; }

  std::shared_ptr<RankState> rank_state_;
  metrics::Track row_;
};

} // namespace troupe::training
