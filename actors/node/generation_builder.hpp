/// FORMER: does for its NODE what blocks, on a thread of its own: finds the other nodes, brings the
/// checkpoint, opens, compiles, connects; and lets go of a generation that has ended.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/node/built_generation.hpp"
#include "actors/node/joining.hpp"
#include "actors/node/return_delay.hpp"
#include "actors/roles/run_view.hpp"
#include "metrics/trace.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe::actors {

/// Config, options and exposition outlive the actors.
struct GenerationBuilderSetup {
  const Config& config;
  const RunOptions& options;
  metrics::Exposition& exposition;
  NetworkOptions network;
  std::string address = {};         ///< of this daemon: HOST:PORT; empty: a node alone
  std::string metrics_address = {}; ///< HOST:PORT; empty: off
  std::shared_ptr<collectives::DataPlane> data_plane = nullptr; ///< null: a node alone
  metrics::Trace trace = {};
  std::function<void(const std::string&)> say = {}; ///< tells a person what is waited for
  /// Waits so long, or until this daemon is asked to stop: true.
  std::function<bool(std::chrono::milliseconds)> stopped_within = {};
  std::function<void()> built = {}; ///< called when a generation is about to train
  node_actor node = {};             ///< whose helper it is
  consensus_actor voter = {};       ///< of this daemon; null: a node alone
  std::string process = {};         ///< of this daemon (training::Voter)
  std::shared_ptr<Waits> waits = std::make_shared<Waits>();
  metrics::Track row = {}; ///< of the actor in the timeline
};

/// It forms one generation after the other, with the host and the MEMBERSHIP of the first.
///
/// Forming can be cancelled while it waits for nodes and checkpoints, and, where there is one node
/// alone, before each device is prepared. Ranks that connect wait for each other: when one cannot
/// come, MEMBERSHIP tells the others.
class GenerationBuilderState {
public:
  static inline const char* name = "former";

  GenerationBuilderState(generation_builder_actor::pointer self, GenerationBuilderSetup setup)
      : self_{self}, setup_{std::move(setup)}, returns_{setup_.config.cluster.timeouts.detection} {}
  ~GenerationBuilderState();
  GenerationBuilderState(const GenerationBuilderState&) = delete;
  GenerationBuilderState& operator=(const GenerationBuilderState&) = delete;
  generation_builder_actor::behavior_type make_behavior();

private:
  using Clock = std::chrono::steady_clock;

  Result<BuiltGenerationPtr> form();
  Result<BuiltGenerationPtr> watch();
  JoinContext context();
  Status come_together();
  Status find_job(const JoinContext& context);
  Result<Place> find_place(JoinContext& context);
  Result<Place> enter_job(const JoinContext& context);
  Status follow_or_lead(JoinContext& context, const Error& lost);
  bool is_leaderless(const Error& error) const;
  Result<Place> with_folder(Result<Place> place);
  Status claim_folder(const training::GenerationRecord& record, const std::string& before);
  bool writes_here(const std::string& writer) const;
  void remember_members() const;
  void note_voters(const training::GenerationRecord& record);
  void remove_staging() const;
  void forget_job() const;
  Status open_data();
  training::TrainingData training_data() const;
  Result<StateOffer> offer(const JoinContext& context);
  Result<StateOffer> offer_whole(const JoinContext& context);
  training::ResumePoint find_newest() const;
  bool holds_shards() const { return host_ && !host_->retained.empty(); }
  Status share(const JoinContext& context);
  Status go_back();
  tl::unexpected<Error> nothing_to_go_on_from() const;
  void say_place() const;
  Status start_alone();
  /// Also a node that was not admitted yet: it has made no step.
  bool begins_afresh() const {
    return place_ ? place_->assignment.generation.step == 0 : last_.number == 0;
  }
  Status prepare_compiled_job(std::int64_t slices, bool leads, bool is_alone);
  Status prepare_to_join(std::int64_t slices);
  Result<BuiltGenerationPtr> show();
  void halt(RunViewPtr view);
  Result<RunViewPtr> open_view(const metrics::RunInfo& info);
  void give_up(Error error);
  const Config& config() const { return setup_.config; }
  bool is_daemon() const { return setup_.options.daemon; }
  /// What this node would go on from; null: nothing but the seed.
  StateSourcePtr& state() { return host_ ? host_->state : resume_point_.state; }

  generation_builder_actor::pointer self_;
  GenerationBuilderSetup setup_;
  ReturnDelay returns_;
  JobHandle joined_;          ///< ours, or the leader's
  bool leads_ = false;        ///< it is ours
  bool inherits_ = false;     ///< another has led before, and there was no generation since
  bool begins_again_ = false; ///< a job that earlier processes did not finish (members.json)
  bool takes_files_ = false;  ///< of the run: a frozen leader may still have them open
  std::string claimed_;       ///< as which writer (GenerationRecord) the run's folder is ours
  std::optional<Place> place_;
  training::GenerationRecord last_{.number = 0}; ///< that this node had a seat in; 0: none
  std::optional<training::OpenData> data_;       ///< goes to the host, too
  training::ResumePoint resume_point_;           ///< its state goes to the host
  training::ResumePoint first_;                  ///< what the leader's first generation began with
  std::optional<std::filesystem::path> newest_;  ///< checkpoint that was offered beside parts
  std::unique_ptr<ShardServer> server_;          ///< while others read what this node holds
  std::shared_ptr<training::CompiledJob> host_;  ///< serves all generations
  std::shared_ptr<training::Generation> generation_;
  Clock::time_point healing_, connecting_; ///< since when
  RunViewPtr view_;                        ///< of the generation before
  bool shown_ = false;                     ///< there was one that a person was told of
};

} // namespace troupe::actors
