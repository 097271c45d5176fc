/// The part of a SHARD MANAGER for DiLoCo: it sends a pseudo-gradient when a round ends, sums those
/// of other replica groups, and holds back steps until the sums that they need have arrived.
#pragma once

#include "actors/messages.hpp"
#include "collectives/point_to_point/point_to_point.hpp"
#include "training/reducer/reducer.hpp"
#include "training/strategies/diloco/outer_state.hpp"
#include "training/strategies/diloco/pseudo_gradient_reducer.hpp"
#include "training/strategies/diloco/round_registry.hpp"

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
  std::shared_ptr<training::PseudoGradientReducer> sum; ///< null: another rank communicates
  std::shared_ptr<collectives::PointToPoint> point_to_point;
  std::int64_t first_step = 0;
};

/// Traffic and results of rounds, for one step's report. `drift` is the root mean square distance
/// between replica groups in the rounds applied before the step, relative to the norm of the
/// rounds' result; below 0: no round was applied.
struct RoundReport {
  std::uint64_t changes = 0, sums = 0; ///< bytes
  double drift = -1;
  std::vector<RoundTaken> taken = {}; ///< rounds summed since the last report
};

/// Used only by its SHARD MANAGER.
class DilocoRounds {
public:
  /// Calls `then` in the actor after this time. The actor reports its error.
  using Later = std::function<void(std::chrono::milliseconds, std::function<Status()> then)>;

  DilocoRounds(DilocoRoundsSetup setup, Later later);

  /// Sends the pseudo-gradients of the rounds that end with this step. `weight`: the replica
  /// group's share of all slices. Precondition: the step's optimizer is enqueued. Error:
  /// out_of_memory.
  Status end_step(std::int64_t step, double weight);
  /// Takes a message of a rank, possibly this one. Errors: network (no such message is expected
  /// from it).
  Status open(const collectives::MessagePtr& message);
  /// Whether the sums that this step's forward needs have arrived.
  bool may_begin(std::int64_t step) const {
    return has_sums_before(step - strategy().diloco.overlap);
  }
  /// Enqueues the outer optimizer for the rounds that are due before this step. Returns the
  /// fragments that changed.
  std::vector<int> apply_before(std::int64_t step);
  /// Whether all messages of the first `steps` steps have arrived and are summed.
  bool is_settled(std::int64_t steps) const;
  /// Enqueues the synchronization of all replica groups to one state after `steps` steps. All ranks
  /// call it. Precondition: is_settled(steps).
  void synchronize(std::int64_t steps, double weight);
  /// Returns the report of this step. Precondition: its optimizer has run.
  RoundReport take_report(std::int64_t step);

private:
  using Sums = std::vector<collectives::MessagePtr>; ///< by owner; null: not arrived yet
  /// Squared distances between replica groups, and the squared norms of their results. The stream
  /// writes the norms.
  struct Apart {
    std::vector<std::shared_ptr<double>> squared_norms;
    double spread = 0;
  };

  int fragments() const { return static_cast<int>(setup_.state->fragments().size()); }
  const training::Strategy& strategy() const { return setup_.state->strategy(); }
  int rank() const { return setup_.state->rank_state().rank; }
  int replica_group() const { return rank() / strategy().replica_group; }
  /// The rank that communicates for a replica group, for this rank's shard.
  int speaker(int replica_group) const {
    return replica_group * strategy().replica_group + strategy().shard_of(rank());
  }
  Status send_changes(training::Round round, double weight);
  Status take_pseudo_gradient(const collectives::MessagePtr& message);
  Status take_sum(const collectives::MessagePtr& message);
  Status check(const collectives::Message& message, bool fits) const;
  bool awaits_sum(const collectives::Message& message) const;
  bool has_sums_before(std::int64_t step) const;
  Status close_if_due(int fragment);
  Status close(int fragment);
  void note(training::Round round, bool is_synchronized,
            std::span<const collectives::MessagePtr> changes);
  void apply(training::Round round, const Sums& sums, Apart& apart);
  void synchronize_fragment(int fragment, std::int64_t steps, double weight);
  void tell_replica_group(const collectives::Message& message) const;

  DilocoRoundsSetup setup_;
  Later later_;
  training::RoundRegistry registry_;       ///< of rounds that this rank sums
  std::map<training::Round, Sums> rounds_; ///< sent or arrived, and not yet applied
  std::set<training::Round> in_grace_;     ///< those that wait for late replica groups
  std::vector<std::int64_t> applied_; ///< by fragment: step of its last applied round; at first,
                                      ///< the step before the first
  // By step.
  std::map<std::int64_t, RoundReport> sent_;
  std::map<std::int64_t, Apart> apart_;
  std::vector<RoundTaken> taken_; ///< not yet reported
};

} // namespace troupe::actors
