#include "training/generation.hpp"

#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "cpu/host_stream.hpp"
#include "nn/learning_rates.hpp"
#include "nn/models/input.hpp"
#include "training/platforms/platforms.hpp"
#include "training/reducer/groups.hpp"
#include "training/reducer/host_optimizer.hpp"
#include "training/trace_rows.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace troupe::training {

namespace {

/// Builds the parts of a generation in order of their dependencies.
class GenerationBuild {
public:
  GenerationBuild(Generation& generation,
                  const std::shared_ptr<collectives::ConnectionGroup>& connection_group)
      : generation_{generation}, connection_group_{connection_group}, job_{generation.job()},
        strategy_{generation.strategy} {}

  Status run() {
    TROUPE_TRY(check_slices());
    generation_.first_step = generation_.compiled_job->state->header().step;
    TROUPE_TRY(assign_evaluation());
    for (int index = 0; index < generation_.assignment.member().workers; ++index)
      TROUPE_TRY(add_rank_state(index));
    if (generation_.assignment.generation.shards > 0 && connection_group_)
      TROUPE_TRY(await_all_loaded(*connection_group_, generation_.assignment,
                                  job_.config.cluster.timeouts));
    TROUPE_TRY(join_groups(generation_, connection_group_));
    if (strategy_.is_asynchronous())
      TROUPE_TRY(add_owners());
    if (strategy_.has_replica_groups())
      TROUPE_TRY(add_outer());
    TROUPE_TRY(add_producers());
    generation_.compiled_job->devices->separate_streams();
    return {};
  }

private:
  Status check_slices() const;
  Status assign_evaluation();
  Status add_rank_state(int index);
  void add_streams(RankState& rank_state) const;
  std::chrono::milliseconds host_limit() const;
  bool may_accumulate() const;
  bool keeps_statistics(int rank) const;
  bool commits_statistics() const;
  Status add_state(RankState& rank_state) const;
  Status open_point_to_point(std::size_t most_bytes);
  Status add_owners();
  Status add_outer();
  Status add_producers();

  Generation& generation_;
  const std::shared_ptr<collectives::ConnectionGroup>& connection_group_;
  const Job& job_;
  const Strategy& strategy_;
};

Status GenerationBuild::check_slices() const {
  const auto& compiled_job = *generation_.compiled_job;
  if (compiled_job.slices < generation_.world_size)
    return fail(Errc::invalid_input, "{} slices of a global batch cannot be assigned to {} ranks",
                compiled_job.slices, generation_.world_size);
  if (job_.config.model.sync_batch_norm && !generation_.slice_assignment.is_even())
    return fail(Errc::invalid_input,
                "{} slices (data.slices) cannot be assigned equally to {} ranks, as "
                "model.sync_batch_norm requires",
                compiled_job.slices, generation_.world_size);
  if (generation_.assignment.member().workers > std::ssize(compiled_job.compiled))
    return fail(Errc::invalid_input, "this node has {} devices, but its assignment has {} workers",
                compiled_job.compiled.size(), generation_.assignment.member().workers);
  return {};
}

Status GenerationBuild::assign_evaluation() {
  if (!job_.evaluation)
    return {};
  TROUPE_TRY(auto assigned, data::assigned(*job_.evaluation, job_.config.data.eval_batch_size,
                                           generation_.world_size));
  generation_.evaluation = std::make_shared<const data::BatchAssembler>(std::move(assigned));
  return {};
}

Status GenerationBuild::add_rank_state(int index) {
  auto rank_state = std::make_shared<RankState>();
  rank_state->rank = generation_.assignment.member().first_rank + index;
  rank_state->compiled = generation_.compiled_job->compiled[static_cast<std::size_t>(index)];
  add_streams(*rank_state);
  TROUPE_TRY(add_state(*rank_state));
  generation_.rank_states.push_back(std::move(rank_state));
  return {};
}

void GenerationBuild::add_streams(RankState& rank_state) const {
  const auto threads = threads_per_worker(job_.config.devices);
  rank_state.compute = rank_state.device().create_stream({.name = "compute", .threads = threads});
  // A single rank has nothing to overlap: one stream keeps one thread pool warm. Next to backward,
  // one thread is enough for reductions: a second pool would compete with the first for cores.
  rank_state.communication =
      generation_.world_size == 1 && !strategy_.offloads()
          ? rank_state.compute
          : rank_state.device().create_stream(
                {.name = "communication",
                 .threads = 1,
                 .urgent = true,
                 .host_limit = strategy_.offloads() ? host_limit() : std::chrono::milliseconds{0}});
  if (strategy_.offloads())
    add_host_streams(rank_state, threads, host_limit());
  if (strategy_.is_asynchronous() ||
      (strategy_.has_replica_groups() && strategy_.leads_replica_group(rank_state.rank)))
    rank_state.owner =
        rank_state.device().create_stream({.name = "owner", .threads = 1, .urgent = true});
}

/// Returns the time limit of host work: the host's optimizer may wait for a collective, which has
/// its own timeout.
std::chrono::milliseconds GenerationBuild::host_limit() const {
  return 2 * job_.config.cluster.timeouts.collective;
}

/// Whether a later reassignment may give a rank more slices.
bool GenerationBuild::may_accumulate() const {
  return job_.config.data.reassigns() &&
         generation_.slice_assignment.slices() > generation_.slice_assignment.world_size();
}

/// Whether a rank's state saves its statistics. Each rank that trains apart has its own first
/// slice.
bool GenerationBuild::keeps_statistics(int rank) const {
  const auto& slice_assignment = generation_.slice_assignment;
  if (strategy_.is_asynchronous())
    return false;
  if (strategy_.trains_apart())
    return may_accumulate() || slice_assignment.slices_of(rank) > 1;
  return slice_assignment.keeps_statistics(rank) || (rank == 0 && may_accumulate());
}

Status GenerationBuild::add_state(RankState& rank_state) const {
  const auto& layout = rank_state.train().layout();
  TROUPE_TRY(
      rank_state.state,
      ModelState::create(
          rank_state.device(), layout,
          {.optimizer_slots = optimizer_slot_names(job_.optimizer(0)),
           .accumulate = !strategy_.is_asynchronous() &&
                         !backward_adds(strategy_, rank_state.train()) &&
                         (generation_.slice_assignment.passes() > 1 || may_accumulate()),
           .keeps_statistics = layout.statistic_elements > 0 && keeps_statistics(rank_state.rank),
           .commits_statistics = commits_statistics(),
           .loss_scale = job_.loss_scale,
           .stored = stored_type(job_.precision),
           .strategy = strategy_,
           .rank = rank_state.rank,
           .buckets = wrap_units(job_.config.parallel, layout.unit_elements, layout.unit_names),
           .rates = nn::parameter_rates(job_.config.train, layout),
           .saves_shard = job_.config.checkpoint.is_sharded(),
           .snapshots = job_.saves(rank_state.rank) && job_.plan.saves_while_training(),
           .prepares = generation_.votes() && !strategy_.trains_apart() &&
                       lies_apart(strategy_, generation_.assignment.generation),
           .replica_rank_of =
               generation_.shard_replicas
                   ? std::optional{generation_.shard_replicas.owner_of(rank_state.rank)}
                   : std::nullopt,
           .keeps_base = generation_.votes() && strategy_.trains_apart(),
           .outer_momentum = strategy_.has_replica_groups() && strategy_.diloco.momentum > 0}));
  bind(rank_state.train(), *rank_state.state);
  rank_state.state->buffers().part().write(rank_state.train().copies());
  if (rank_state.evaluates())
    bind(rank_state.evaluate(), *rank_state.state);
  return rank_state.state->load(*rank_state.compute, *generation_.compiled_job->state);
}

/// Whether the state stores the statistics of committed steps separately.
bool GenerationBuild::commits_statistics() const {
  return strategy_.is_asynchronous() || (generation_.votes() && !strategy_.trains_apart());
}

Status GenerationBuild::open_point_to_point(std::size_t most_bytes) {
  const auto& record = generation_.assignment.generation;
  const auto& timeouts = job_.config.cluster.timeouts;
  collectives::PointToPointOptions options{
      .channel = {.member =
                      static_cast<int>(record.index_of(generation_.rank_states.front()->rank)),
                  .group = fmt::format("{}/post", record.number),
                  .timeout = timeouts.collective,
                  .connect_timeout = timeouts.quorum},
      .most_bytes = most_bytes};
  for (int rank = 0; rank < generation_.world_size; ++rank)
    options.process_of.push_back(static_cast<int>(record.index_of(rank)));
  if (record.nodes.size() > 1)
    for (const auto& node : record.nodes)
      options.channel.endpoints.push_back(net::peer_endpoint(node.data));
  TROUPE_TRY(generation_.point_to_point,
             collectives::PointToPoint::open(std::move(options), connection_group_));
  return {};
}

Status GenerationBuild::add_owners() {
  const auto& state = *generation_.rank_states.front()->state;
  TROUPE_TRY(open_point_to_point(std::max(state.layout().plan().shard_elements(),
                                          state.layout().storage().statistic_elements) *
                                 sizeof(float)));
  for (const auto& rank_state : generation_.rank_states) {
    auto reducer = generation_.reducer(rank_state);
    reducer.row = generation_.trace.track(rank_rows(rank_state->rank), "owner");
    TROUPE_TRY(auto owner, ParameterServerShard::create(std::move(reducer)));
    generation_.owners.push_back(std::move(owner));
  }
  return {};
}

Status GenerationBuild::add_outer() {
  for (const auto& rank_state : generation_.rank_states) {
    TROUPE_TRY(auto outer, OuterState::create(rank_state));
    std::shared_ptr<PseudoGradientReducer> sum;
    if (outer->leads()) {
      TROUPE_TRY(sum, PseudoGradientReducer::create(rank_state, outer->fragments()));
    }
    generation_.outer.push_back(std::move(outer));
    generation_.sums.push_back(std::move(sum));
  }
  return open_point_to_point(largest(generation_.outer.front()->fragments()) * sizeof(float));
}

Status GenerationBuild::add_producers() {
  // Loaders use host streams on every device: they read and augment on the CPU.
  for (std::int64_t i = 0; i < job_.config.data.loader_threads; ++i)
    generation_.loader_streams.push_back(
        {std::make_shared<cpu::HostStream>(StreamOptions{.name = "loader"}),
         generation_.trace.track(node_rows, fmt::format("loader {}", i))});
  const HostLoader host{generation_.loader_streams, generation_.loader_work};
  for (const auto& rank_state : generation_.rank_states) {
    TROUPE_TRY(rank_state->producers,
               make_producers(*generation_.compiled_job->devices, *rank_state->compiled,
                              {.assembler = job_.training,
                               .rank = rank_state->rank,
                               .slice = {0, generation_.slice_assignment.slices()},
                               .slots = job_.config.data.prefetch,
                               .host = host,
                               .streams = &generation_.loader_streams,
                               .trace = generation_.trace},
                              generation_.evaluation, generation_.world_size));
  }
  return {};
}

} // namespace

Generation::Generation(std::shared_ptr<CompiledJob> on, NodeAssignment given, metrics::Trace to)
    : compiled_job{std::move(on)}, assignment{std::move(given)},
      world_size{assignment.generation.world_size()}, strategy{strategy_of(
                                                          compiled_job->job->config.parallel,
                                                          world_size)},
      shard_replicas{
          shard_replicas_of(compiled_job->job->config.parallel, strategy, assignment.generation)},
      slice_assignment{
          strategy.is_asynchronous()
              ? data::SliceAssignment::on_demand(static_cast<int>(compiled_job->slices), world_size)
              : data::SliceAssignment{static_cast<int>(compiled_job->slices), world_size}},
      trace{std::move(to)} {}

Generation::~Generation() {
  drain();
  for (const auto& rank_state : rank_states) {
    unbind(rank_state->train());
    if (rank_state->evaluates())
      unbind(rank_state->evaluate());
  }
}

metrics::RunInfo Generation::info() const {
  auto info = run_info(job().config);
  info.recompute = compiled_job->recompute;
  info.class_names = job().training->dataset().class_names();
  info.sample_name = job().training->adapter().sample_name();
  if (const auto input = nn::input_spec(job().config); input.vocabulary > 0)
    info.tokens_per_sample = input.labels_of_sample();
  info.world_size = world_size;
  info.batch_size = job().config.data.batch_size;
  info.steps_per_epoch = job().plan.steps_per_epoch();
  info.total_steps = job().plan.total_steps();
  info.first_step = first_step;
  info.checkpoint_interval = job().plan.save_interval();
  info.operations_per_step = compiled_job->operations * static_cast<double>(compiled_job->slices);
  info.host = assignment.member().host;
  info.started = std::chrono::system_clock::now();
  return info;
}

GradientReducerSetup Generation::reducer(const std::shared_ptr<RankState>& rank_state) const {
  return {.rank_state = rank_state,
          .slice_assignment = slice_assignment,
          .votes = votes(),
          .replica_distance = shard_replicas.distance,
          .clip_norm = job().config.train.clip_grad_norm,
          .norm_every = job().config.train.gradient_norm_every,
          .loss_scale = job().loss_scale,
          .optimizer = job().optimizer};
}

data::SliceBalancer Generation::balancer() const {
  if (!job().recorded_assignments.empty())
    return data::SliceBalancer::replay(slice_assignment, job().recorded_assignments);
  if (job().config.data.balance == SliceBalance::speed)
    return data::SliceBalancer::by_speed(slice_assignment, first_step,
                                         strategy.trains_apart() ? 1 : 0);
  return data::SliceBalancer{slice_assignment};
}

void Generation::drain() const {
  for (const auto& rank_state : rank_states)
    for (const auto& stream : {rank_state->compute, rank_state->communication, rank_state->copies,
                               rank_state->updates, rank_state->owner})
      if (stream)
        std::ignore = stream->synchronize();
  for (const auto& loader : loader_streams)
    std::ignore = loader.stream->synchronize();
}

Result<std::shared_ptr<Generation>>
build_generation(const std::shared_ptr<CompiledJob>& compiled_job, const NodeAssignment& assignment,
                 const std::shared_ptr<collectives::ConnectionGroup>& connection_group,
                 const metrics::Trace& trace) {
  auto generation = std::make_shared<Generation>(compiled_job, assignment, trace);
  GenerationBuild build{*generation, connection_group};
  TROUPE_TRY(build.run());
  compiled_job->state.reset();
  const auto before = std::make_shared<const RetainedStates>(
      begun_with(std::exchange(compiled_job->retained, {}), generation->first_step));
  for (const auto& rank_state : generation->rank_states)
    rank_state->before = before;
  return generation;
}

} // namespace troupe::training
