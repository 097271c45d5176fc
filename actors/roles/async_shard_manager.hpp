/// SHARD MANAGER where workers train asynchronously: it owns a shard of the parameters, to which
/// all ranks send gradients whenever they have some, and from which they read whenever they begin
/// a slice; and it reads and sends for the WORKER of its rank. Ranks do not wait for each other: a
/// step is applied when all its slices have come, and COORDINATOR sees to it that none is ahead
/// by more than the staleness.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/roles/detail/state_saver.hpp"
#include "engine/asynchronous/check_letter.hpp"
#include "engine/asynchronous/shard_owner.hpp"
#include "engine/asynchronous/slice_reader.hpp"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace troupe::actors {

struct AsyncShardManagerSetup {
  engine::ExchangeSetup exchange;
  std::shared_ptr<engine::ShardOwner> owner;
  std::shared_ptr<collectives::Post> post;
  std::optional<int> buddy = {}; ///< who has a copy of this rank's shard
  StateSaverSetup saver;
  metrics::Track row = {}; ///< of the actor in the timeline
};

/// What becomes of a step at its owner:
///
///             all slices,    the buddy's   verdict    all ranks
///             statistics     sum is here   of all     are for it
///   summing ------------> taken -------> finding -> preparing --> applying --> summing the next
///
/// The last three are also questions to COORDINATOR, and its answers (ADR 26, by message). Where
/// nothing is to be found in a step (Exchange::finds) there is no finding.
class AsyncShardManagerState {
public:
  static inline const char* name = "shard_manager";

  AsyncShardManagerState(shard_manager_actor::pointer self, AsyncShardManagerSetup setup);
  shard_manager_actor::behavior_type make_behavior();

private:
  enum class Stage : std::uint8_t { summing, taken, finding, preparing, applying };
  /// What parameters are read for.
  struct Reading {
    Purpose purpose;
    std::int64_t index; ///< the pass; of evaluation: the steps
    bool operator==(const Reading&) const = default;
  };
  engine::Version wanted_for(const Reading& reading) const;

  // For this rank's WORKER.
  void serve();
  void begin_reading(const Reading& next);
  Reading reading_for(const Use& use) const;
  void take_parameters(const collectives::MailPtr& mail);
  void take_rest(engine::Version version);
  void gradients_ready(Pass pass, UnitId unit, const EventPtr& event);
  void give(const collectives::Bucket& bucket, engine::SliceOf slice);
  void evaluate(std::int64_t step);
  // For all.
  engine::LetterRules letter_rules() const;
  void open(const collectives::MailPtr& mail);
  Status check(const collectives::Mail& mail) const;
  bool awaits(const collectives::Mail& mail) const;
  void answer_pull(const collectives::Mail& mail);
  void take_gradients(const collectives::MailPtr& mail);
  void take_statistics(const collectives::MailPtr& mail);
  void go_on();
  void take();
  void find();
  void prepare(const StepFound& of_all);
  void apply(std::int64_t step);
  void finish_step(std::int64_t step);
  StepReport report(std::int64_t step) const;
  Status check_scale() const;

  caf::result<void> abort(const Error& reason);
  void fail(Error error);
  void count(metrics::CollectiveKind kind, std::uint64_t bytes) {
    sent_[static_cast<std::size_t>(kind)].bytes += bytes;
  }
  void send(collectives::Mail mail, int to);
  void send_when_copied(collectives::Mail mail, int to);
  engine::Replica& replica() const { return *setup_.exchange.replica; }
  engine::ModelState& state() const { return *replica().state; }
  int ranks() const { return state().strategy().world_size; }
  shard_manager_actor me() const { return self_; }

  shard_manager_actor::pointer self_;
  AsyncShardManagerSetup setup_;
  engine::Exchange exchange_; ///< to save with
  StateSaver saver_;
  std::shared_ptr<engine::ShardOwner> owner_;
  engine::SliceReader reader_;
  engine::LetterRules rules_;
  worker_actor worker_;
  std::deque<Use> requests_;
  std::optional<Reading> reading_;
  std::set<int> asked_; ///< owners whose parameters are still to come
  EventPtr read_;       ///< when what is being read for can be computed with
  std::int64_t evaluated_ = 0;
  Stage stage_ = Stage::summing;
  std::map<std::int64_t, collectives::MailPtr> buddys_; ///< sums of who has its copy here, by step
  std::set<std::int64_t> statistics_;                   ///< steps whose batch norms' are here
  std::shared_ptr<engine::StepFindings> found_, of_all_;
  engine::SliceReads reads_;
  std::array<RankCollective, metrics::collective_kind_names.size()> sent_ = {};
  caf::typed_response_promise<void> aborted_;
};

} // namespace troupe::actors
