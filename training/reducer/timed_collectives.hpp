/// Collectives on a rank's communication stream, with their times, bytes and spans in the timeline.
#pragma once

#include "metrics/records/step.hpp"
#include "metrics/trace.hpp"
#include "training/rank_state.hpp"
#include "training/step_plan.hpp"

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::training {

struct Collective {
  metrics::CollectiveKind kind;
  EventPtr begin, end;
  std::uint64_t bytes; ///< sent by this rank
};

/// The plan of a step, and what the communication stream has done for it.
struct StepWork {
  StepPlan plan = {};
  std::vector<Collective> done = {};
  /// Start and end of each optimizer update, or of each wait for the host's.
  std::vector<std::pair<EventPtr, EventPtr>> updates = {};
};

struct TimedCollectives {
  std::shared_ptr<RankState> rank_state;
  metrics::Track row; ///< of the stream in the timeline

  /// Enqueues a collective by `call`. `of`: name of the values that are sent; empty for a bucket.
  void run(collectives::Communicator& communicator, metrics::CollectiveKind kind, std::size_t bytes,
           std::string_view of, StepWork& work, const std::function<void()>& call) const;
  void all_reduce(collectives::Communicator& group, const collectives::Values& values,
                  StepWork& work, std::string_view of) const;
  /// From rank 0 to all ranks.
  void broadcast(const collectives::Values& values, StepWork& work, std::string_view of = "") const;
  /// Returns where values are sent from and received: in place or, in a narrower type, at an
  /// element of the send buffer. `narrow` and `widen` enqueue the conversion, if there is one.
  collectives::Values as_sent(float* values, std::size_t elements, DType type,
                              std::size_t place = 0) const;
  void narrow(const float* values, const collectives::Values& to) const;
  void widen(const collectives::Values& sent, float* to) const;
  Stream& stream() const { return *rank_state->communication; }
};

} // namespace troupe::training
