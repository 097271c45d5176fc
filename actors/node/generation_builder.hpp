/// Builds the generations of a job: finds the other nodes, fetches the checkpoint, opens the data,
/// compiles, connects, and drops generations that have ended.
#pragma once

#include "actors/node/backoff.hpp"
#include "actors/node/joining.hpp"
#include "actors/node/node_work.hpp"
#include "actors/roles/run_view.hpp"
#include "metrics/trace.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe::actors {

/// Options, exposition and the references in `join` must outlive the builder.
struct GenerationBuilderSetup {
  JoinContext join; ///< without what depends on the generations before
  const RunOptions& options;
  metrics::Exposition& exposition;
  metrics::Trace trace = {};
  std::function<void()> built = {}; ///< called when a generation is about to train
  metrics::Track row = {};          ///< in the timeline
};

/// Builds one generation after the other, with the compiled job and the MEMBERSHIP of the first.
///
/// A build can be cancelled while it waits for nodes and checkpoints; on a single node also before
/// each device is prepared. Ranks that connect wait for each other: if one cannot connect,
/// MEMBERSHIP tells the others.
class GenerationBuilder final : public NodeWork {
public:
  static inline const char* name = "generation_builder";

  explicit GenerationBuilder(GenerationBuilderSetup setup)
      : setup_{std::move(setup)}, returns_{setup_.join.config.cluster.timeouts.detection} {}
  ~GenerationBuilder() override;

  Result<BuiltGenerationPtr> build() override;
  void halt(RunViewPtr view) override;
  void release(bool for_all) override;
  void note_voters(const training::GenerationRecord& record) override;

private:
  using Clock = std::chrono::steady_clock;

  Result<BuiltGenerationPtr> build_next();
  Result<BuiltGenerationPtr> watch();
  JoinContext context();
  Status come_together();
  Status find_job(const JoinContext& context);
  Result<Admission> find_admission(JoinContext& context);
  Status follow_or_lead(JoinContext& context, const Error& lost);
  bool is_leaderless(const Error& error) const;
  Result<Admission> with_folder(Result<Admission> admission);
  Status claim_folder(const training::GenerationRecord& record, const std::string& before);
  bool writes_here(const std::string& writer) const;
  void remember_members() const;
  void remove_staging() const;
  void forget_job() const;
  Status open_data();
  Result<StateOffer> offer(const JoinContext& context);
  Result<StateOffer> offer_whole(const JoinContext& context);
  training::ResumePoint find_newest() const;
  bool holds_shards() const { return compiled_job_ && !compiled_job_->retained.empty(); }
  Status share(const JoinContext& context);
  Status go_back();
  tl::unexpected<Error> nothing_to_go_on_from() const;
  void log_admission() const;
  Status start_alone();
  Status prepare_compiled_job(std::int64_t slices, bool leads, bool is_alone);
  Result<BuiltGenerationPtr> show();
  void give_up(Error error);
  const Config& config() const { return setup_.join.config; }
  bool is_daemon() const { return setup_.options.daemon; }
  /// The state that this node would resume from; null: only the seed.
  StateSourcePtr& state() { return compiled_job_ ? compiled_job_->state : resume_point_.state; }

  GenerationBuilderSetup setup_;
  ReturnDelay returns_;
  JobHandle joined_;          ///< the MEMBERSHIP of this node or of the leader
  bool leads_ = false;        ///< `joined_` is on this node
  bool inherits_ = false;     ///< another node has led before, and there was no generation since
  bool begins_again_ = false; ///< a job that earlier processes did not finish (members.json)
  bool takes_files_ = false;  ///< of the run: a frozen leader may still have them open
  std::string claimed_;       ///< GenerationRecord::writer of this node's claim to the run's folder
  std::optional<Admission> admission_;
  training::GenerationRecord last_{
      .number = 0}; ///< last one in which this node had an assignment; 0: none
  std::optional<training::OpenData> data_;      ///< moves to the compiled job
  training::ResumePoint resume_point_;          ///< its state moves to the compiled job
  training::ResumePoint first_;                 ///< resume point of the leader's first generation
  std::optional<std::filesystem::path> newest_; ///< checkpoint offered in addition to shards
  std::unique_ptr<ShardServer> server_;         ///< set while others read from this node
  std::shared_ptr<training::CompiledJob> compiled_job_; ///< serves all generations
  std::shared_ptr<training::Generation> generation_;
  struct {
    Clock::time_point healing, connecting;
  } started_;
  RunViewPtr view_;    ///< of the last generation
  bool shown_ = false; ///< the run was announced
};

} // namespace troupe::actors
