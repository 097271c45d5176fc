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

/// Values of one side of a collective, and their place in the send buffer.
struct SentPart {
  float* values;
  std::size_t elements, place = 0;
};

class TimedCollectives {
public:
  TimedCollectives(std::shared_ptr<RankState> rank_state, metrics::Track row)
      : rank_state_{std::move(rank_state)}, row_{std::move(row)} {}
  /// `of`: name of the values that are sent, unless they are a bucket.
  void run(collectives::Communicator& communicator, metrics::CollectiveKind kind, std::size_t bytes,
           StepWork& work, const std::function<void()>& call, std::string_view of = "") const;
  void all_reduce(collectives::Communicator& group, const collectives::Values& values,
                  StepWork& work, std::string_view of) const;
  /// From rank 0 to all ranks.
  void broadcast(const collectives::Values& values, StepWork& work, std::string_view of = "") const;
  /// Runs `call`, which sends one part and writes the other. In a type other than fp32, both lie in
  /// the send buffer, and conversions are enqueued before and after.
  void exchange(collectives::Communicator& communicator, metrics::CollectiveKind kind, DType type,
                const SentPart& from, const SentPart& to, StepWork& work,
                const std::function<void(const collectives::Values& from,
                                         const collectives::Values& to)>& call) const;

private:
  collectives::Values as_sent(const SentPart& part, DType type) const;
  Stream& stream() const { return *rank_state_->communication; }

  std::shared_ptr<RankState> rank_state_;
  metrics::Track row_;
};

} // namespace troupe::training
