/// SHARD MANAGER of asynchronous training. As a parameter server it owns one shard of the
/// parameters: all ranks send it gradients whenever they have some, and read it whenever they begin
/// a slice. As a client it reads and sends for the WORKER of its rank. Ranks do not wait for each
/// other: a step is applied when all its slices have arrived, and COORDINATOR keeps every rank
/// within the allowed staleness.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/shard_manager_base.hpp"
#include "training/strategies/async/check_message.hpp"
#include "training/strategies/async/parameter_client.hpp"
#include "training/strategies/async/parameter_server_shard.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace troupe::actors {

struct AsyncShardManagerSetup {
  std::shared_ptr<training::RankState> rank_state;
  data::SliceAssignment slice_assignment = {};
  std::shared_ptr<training::ParameterServerShard> owner;
  std::shared_ptr<collectives::PointToPoint> point_to_point;
  std::optional<int> replica_rank = {}; ///< the rank that keeps a copy of this rank's shard
  ShardManagerNeighbours others;
  metrics::Track row = {}; ///< of the actor in the timeline
};

/// The stages of a step at the owner of a shard:
///
///            all slices,    sum for the      results    all ranks
///            statistics     replica here     of all     have voted
///   summing ------------> taken --------> finding -> preparing --> applying --> summing the next
///
/// The last three stages are a two-phase commit by messages with COORDINATOR (ADR 26). Steps that
/// need no results of all ranks (ParameterServerShard::finds) skip `finding`.
class AsyncShardManagerState : public ShardManagerBase {
public:
  AsyncShardManagerState(parameter_server_actor::pointer self, AsyncShardManagerSetup setup);
  parameter_server_actor::behavior_type make_behavior();

private:
  enum class Stage : std::uint8_t { summing, taken, finding, preparing, applying };
  /// The purpose of a read of the parameters.
  struct Reading {
    PassMode pass_mode;
    std::int64_t index; ///< training: the pass; evaluation: the number of steps
    bool operator==(const Reading&) const = default;
  };
  training::StateCopier copier(std::int64_t steps) override;

  // As the client of this rank's WORKER.
  void answer_requests() override;
  void begin_reading(const Reading& next);
  void take_parameters(const collectives::MessagePtr& message);
  void take_rest(training::Version version);
  void gradients_ready(Pass pass, UnitId unit, const EventPtr& event) override;
  // As the owner of a shard.
  void deliver(const collectives::MessagePtr& message) override;
  Status check(const collectives::Message& message) const;
  bool awaits(const collectives::Message& message) const;
  void answer_pull(const collectives::Message& message);
  void take_statistics(const collectives::MessagePtr& message);
  void go_on();
  void take();
  void find();
  void prepare(std::int64_t step, const training::StepResults& of_all);
  void apply(std::int64_t step);
  void finish_step(std::int64_t step);
  StepReport report_of(std::int64_t step);

  caf::result<void> abort(const Error& reason);
  void fail(Error error) override { report(std::move(error), owner_->version()); }
  void count(metrics::CollectiveKind kind, std::uint64_t bytes) {
    sent_[static_cast<std::size_t>(kind)].bytes += bytes;
  }
  void send(collectives::Message message, int to);
  void send_when_copied(collectives::Message message, int to);
  const data::SliceAssignment& slice_assignment() const { return setup_.slice_assignment; }
  training::ModelState& state() const { return *rank_state().state; }
  int ranks() const { return state().layout().strategy().world_size; }

  parameter_server_actor::pointer self_;
  AsyncShardManagerSetup setup_;
  std::shared_ptr<training::ParameterServerShard> owner_;
  training::ParameterClient reader_;
  training::MessageRules rules_;
  std::optional<Reading> reading_;
  std::set<int> asked_; ///< owners whose parameters have not arrived yet
  EventPtr read_;       ///< when the parameters of `reading_` are usable
  std::int64_t evaluated_ = 0;
  Stage stage_ = Stage::summing;
  std::map<std::int64_t, collectives::MessagePtr>
      replicated_;                    ///< by step: sums for the copied shard
  std::set<std::int64_t> statistics_; ///< steps whose batch norm statistics have arrived
  std::shared_ptr<training::StepResults> found_, of_all_;
  std::map<std::int64_t, WorkerStep> measured_; ///< by step: sums over the rank's slices
  std::vector<SliceRead> reads_;
  std::array<RankCollective, metrics::collective_kind_names.size()> sent_ = {};
};

} // namespace troupe::actors
