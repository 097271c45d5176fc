/// What a rank's SHARD MANAGER does where teams train apart, beside the steps of its own team: it
/// sends off what has changed where a round ends, sums what comes from others, and knows until when
/// training may go on.
#pragma once

#include "actors/interfaces.hpp"
#include "collectives/point_to_point/point_to_point.hpp"
#include "training/diloco/outer_state.hpp"
#include "training/diloco/pseudo_gradient_reducer.hpp"
#include "training/diloco/round_registry.hpp"
#include "training/reducer/reducer.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace troupe::actors {

struct DilocoRoundsSetup {
  std::shared_ptr<training::OuterState> state;
  std::shared_ptr<training::PseudoGradientReducer> sum; ///< null: another rank speaks for the team
  std::shared_ptr<collectives::PointToPoint> point_to_point;
  std::int64_t first_step = 0;
};

/// What is sent for rounds that have ended since the last report; and how far teams were apart in
/// what was applied before a step, root mean square, as a part of the norm of what they came to
/// (below 0: nothing was).
struct RoundReport {
  std::uint64_t changes = 0, sums = 0; ///< bytes
  double drift = -1;
  std::vector<RoundTaken> taken = {}; ///< by sums since the last report
};

/// A part of a SHARD MANAGER, called by it alone.
class DilocoRounds {
public:
  /// Calls `then`, in the actor, when so much time is over.
  using Later = std::function<void(std::chrono::milliseconds, std::function<void()> then)>;

  DilocoRounds(DilocoRoundsSetup setup, shard_manager_actor me, Later later);

  /// The optimizer of this step is enqueued: sends what ends with it. `weight`: the team's part of
  /// all slices. Error: out_of_memory.
  Status end_step(std::int64_t step, double weight);
  /// From a rank of another team, or of this one. Errors: network (it is no letter of such a rank).
  Status open(const collectives::MessagePtr& message);
  /// Whether parameters of this step's forward can be what they are to be.
  bool may_begin(std::int64_t step) const;
  /// Enqueues what was to come before this step. Which fragments have changed.
  std::vector<int> apply_before(std::int64_t step);
  /// Whether all that was sent in steps before this one has come, and is summed.
  bool is_settled(std::int64_t steps) const;
  /// All ranks: enqueues that teams have one state behind so many steps. Precondition: is_settled.
  void synchronize(std::int64_t steps, double weight);
  /// Precondition: the optimizer of this step has run.
  RoundReport take_report(std::int64_t step);

private:
  using Sums = std::vector<collectives::MessagePtr>; ///< by owner; null: not there yet
  /// How far teams were apart in fragments, and the squared norms of what these came to, which the
  /// stream writes.
  struct Apart {
    std::vector<std::shared_ptr<double>> squared_norms;
    double spread = 0;
  };

  int fragments() const { return static_cast<int>(setup_.state->fragments().size()); }
  const collectives::Strategy& strategy() const { return setup_.state->strategy(); }
  int rank() const { return setup_.state->rank_state().rank; }
  int replica_group() const { return rank() / strategy().replica_group; }
  /// Who speaks for a team, of this rank's shard.
  int speaker(int replica_group) const {
    return replica_group * strategy().replica_group + strategy().shard_of(rank());
  }
  Status send_changes(training::Round round, double weight);
  Status take_pseudo_gradient(const collectives::MessagePtr& message);
  Status take_sum(const collectives::MessagePtr& message);
  Status check(const collectives::Message& message, bool fits) const;
  bool awaits_sum(const collectives::Message& message) const;
  Status close_if_due(int fragment);
  Status close(int fragment);
  void note(training::Round round, bool is_meeting,
            std::span<const collectives::MessagePtr> changes);
  void begin_grace(training::Round round);
  void apply(training::Round round, const Sums& sums, Apart& apart);
  void synchronize_fragment(int fragment, std::int64_t steps, double weight);
  void tell_replica_group(const collectives::Message& message) const;

  DilocoRoundsSetup setup_;
  shard_manager_actor me_;
  Later later_;
  training::RoundRegistry registry_;       ///< of who sums
  std::map<training::Round, Sums> rounds_; ///< not yet applied: they were sent, or others have them
  std::set<training::Round> in_grace_;     ///< those that wait for teams which are late
  std::vector<std::int64_t> applied_;      ///< by fragment: the step of its last round, or before
  // By step.
  std::map<std::int64_t, RoundReport> sent_;
  std::map<std::int64_t, Apart> apart_;
  std::vector<RoundTaken> taken_; ///< not yet reported
};

} // namespace troupe::actors
