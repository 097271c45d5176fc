/// What a rank's SHARD MANAGER does where teams train apart, beside the steps of its own team: it
/// sends off what has changed where a round ends, sums what comes from others, and knows until when
/// training may go on.
#pragma once

#include "actors/interfaces.hpp"
#include "collectives/post/post.hpp"
#include "engine/exchange/exchange.hpp"
#include "engine/outer/change_sum.hpp"
#include "engine/outer/outer_state.hpp"
#include "engine/outer/round_book.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace troupe::actors {

struct TeamRoundsSetup {
  std::shared_ptr<engine::OuterState> state;
  std::shared_ptr<engine::ChangeSum> sum; ///< null: another rank speaks for the team
  std::shared_ptr<collectives::Post> post;
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
class TeamRounds {
public:
  /// Calls `then`, in the actor, when so much time is over.
  using Later = std::function<void(std::chrono::milliseconds, std::function<void()> then)>;

  TeamRounds(TeamRoundsSetup setup, shard_manager_actor me, Later later);

  /// The optimizer of this step is enqueued: sends what ends with it. `weight`: the team's part of
  /// all slices. Error: out_of_memory.
  Status end_step(std::int64_t step, double weight);
  /// From a rank of another team, or of this one. Errors: network (it is no letter of such a rank).
  Status open(const collectives::MailPtr& mail);
  /// Whether parameters of this step's forward can be what they are to be.
  bool may_begin(std::int64_t step) const;
  /// Enqueues what was to come before this step. Which fragments have changed.
  std::vector<int> apply_before(std::int64_t step);
  /// Whether all that was sent in steps before this one has come, and is summed.
  bool is_settled(std::int64_t steps) const;
  /// All ranks: enqueues that teams have one state behind so many steps. Precondition: is_settled.
  void meet(std::int64_t steps, double weight);
  /// Precondition: the optimizer of this step has run.
  RoundReport take_report(std::int64_t step);

private:
  using Sums = std::vector<collectives::MailPtr>; ///< by owner; null: not there yet
  /// How far teams were apart in fragments, and the squared norms of what these came to, which the
  /// stream writes.
  struct Apart {
    std::vector<std::shared_ptr<double>> squared_norms;
    double spread = 0;
  };

  int fragments() const { return static_cast<int>(setup_.state->fragments().size()); }
  const collectives::Strategy& strategy() const { return setup_.state->strategy(); }
  int rank() const { return setup_.state->replica().rank; }
  int team() const { return rank() / strategy().team; }
  /// Who speaks for a team, of this rank's shard.
  int speaker(int team) const { return team * strategy().team + strategy().shard_of(rank()); }
  Status send_changes(engine::Round round, double weight);
  Status take_change(const collectives::MailPtr& mail);
  Status take_sum(const collectives::MailPtr& mail);
  Status check(const collectives::Mail& mail, bool fits) const;
  bool awaits_sum(const collectives::Mail& mail) const;
  Status close_if_due(int fragment);
  Status close(int fragment);
  void note(engine::Round round, bool is_meeting, std::span<const collectives::MailPtr> changes);
  void begin_grace(engine::Round round);
  void apply(engine::Round round, const Sums& sums, Apart& apart);
  void meet_fragment(int fragment, std::int64_t steps, double weight);
  void tell_team(const collectives::Mail& mail) const;

  TeamRoundsSetup setup_;
  shard_manager_actor me_;
  Later later_;
  engine::RoundBook book_;               ///< of who sums
  std::map<engine::Round, Sums> rounds_; ///< not yet applied: they were sent, or others have them
  std::set<engine::Round> in_grace_;     ///< those that wait for teams which are late
  std::vector<std::int64_t> applied_;    ///< by fragment: the step of its last round, or before
  // By step.
  std::map<std::int64_t, RoundReport> sent_;
  std::map<std::int64_t, Apart> apart_;
  std::vector<RoundTaken> taken_; ///< not yet reported
};

} // namespace troupe::actors
