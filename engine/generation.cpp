#include "engine/generation.hpp"

#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "cpu/host_stream.hpp"
#include "engine/exchange/all_loaded.hpp"
#include "engine/exchange/groups.hpp"
#include "engine/exchange/host_optimizer.hpp"
#include "engine/platforms/platforms.hpp"
#include "engine/trace_rows.hpp"
#include "nn/learning_rates.hpp"
#include "nn/models/input.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace troupe::engine {

namespace {

/// Makes the parts of a generation in the order in which they need each other.
class Formation {
public:
  explicit Formation(Generation& generation)
      : generation_{generation}, job_{generation.job()}, strategy_{generation.strategy} {}

  Status run(const std::shared_ptr<collectives::Meeting>& meeting) {
    TROUPE_TRY(check_slices());
    generation_.first_step = generation_.host->state->header().step;
    TROUPE_TRY(deal_evaluation());
    for (int index = 0; index < generation_.seat.place().workers; ++index)
      TROUPE_TRY(add_replica(index));
    if (generation_.seat.generation.shards > 0 && meeting)
      TROUPE_TRY(await_all_loaded(*meeting, generation_.seat, job_.config.cluster.timeouts));
    TROUPE_TRY(join_groups(*generation_.host->devices, generation_.replicas, strategy_,
                           {.generation = generation_.seat.generation,
                            .timeouts = job_.config.cluster.timeouts,
                            .meeting = meeting,
                            .statistics = job_.config.model.sync_batch_norm}));
    if (strategy_.is_asynchronous())
      TROUPE_TRY(add_owners(meeting));
    if (strategy_.has_teams())
      TROUPE_TRY(add_outer(meeting));
    TROUPE_TRY(add_fillers());
    generation_.host->devices->separate_streams();
    return {};
  }

private:
  Status check_slices() const;
  Status deal_evaluation();
  Status add_replica(int index);
  void add_streams(Replica& replica) const;
  std::chrono::milliseconds host_limit() const;
  bool may_accumulate() const;
  bool keeps_statistics(int rank) const;
  bool commits_statistics() const;
  Status add_state(Replica& replica) const;
  Status open_post(const std::shared_ptr<collectives::Meeting>& meeting, std::size_t most_bytes);
  Status add_owners(const std::shared_ptr<collectives::Meeting>& meeting);
  Status add_outer(const std::shared_ptr<collectives::Meeting>& meeting);
  Status add_fillers();

  Generation& generation_;
  const Job& job_;
  const collectives::Strategy& strategy_;
};

Status Formation::check_slices() const {
  const auto& host = *generation_.host;
  if (host.slices < generation_.world_size)
    return fail(Errc::invalid_input, "{} slices of a global batch cannot be dealt to {} ranks",
                host.slices, generation_.world_size);
  if (job_.config.model.sync_batch_norm && !generation_.dealing.is_even())
    return fail(
        Errc::invalid_input,
        "{} slices cannot be dealt equally to {} ranks, which synchronize batch norms slice "
        "by slice (data.slices)",
        host.slices, generation_.world_size);
  if (generation_.seat.place().workers > std::ssize(host.equipment))
    return fail(Errc::invalid_input, "this node has {} devices, and a seat for {} workers",
                host.equipment.size(), generation_.seat.place().workers);
  return {};
}

Status Formation::deal_evaluation() {
  if (!job_.evaluation)
    return {};
  TROUPE_TRY(auto dealt, data::dealt(*job_.evaluation, job_.config.data.eval_batch_size,
                                     generation_.world_size));
  generation_.evaluation = std::make_shared<const data::BatchAssembler>(std::move(dealt));
  return {};
}

Status Formation::add_replica(int index) {
  auto replica = std::make_shared<Replica>();
  replica->rank = generation_.seat.place().first_rank + index;
  replica->equipment = generation_.host->equipment[static_cast<std::size_t>(index)];
  add_streams(*replica);
  TROUPE_TRY(add_state(*replica));
  generation_.replicas.push_back(std::move(replica));
  return {};
}

void Formation::add_streams(Replica& replica) const {
  const auto threads = threads_per_worker(job_.config.devices);
  replica.compute = replica.device().create_stream({.name = "compute", .threads = threads});
  // A single rank has nothing to overlap: one stream keeps one team of threads warm. Beside
  // backward, one thread is enough for sums: a second team would fight with the first.
  replica.communication =
      generation_.world_size == 1 && !strategy_.offloads()
          ? replica.compute
          : replica.device().create_stream(
                {.name = "communication",
                 .threads = 1,
                 .urgent = true,
                 .host_limit = strategy_.offloads() ? host_limit() : std::chrono::milliseconds{0}});
  if (strategy_.offloads())
    add_host_streams(replica, threads, host_limit());
  if (strategy_.is_asynchronous() || (strategy_.has_teams() && strategy_.leads_team(replica.rank)))
    replica.owner = replica.device().create_stream({.name = "owner", .threads = 1, .urgent = true});
}

/// The host's optimizer may itself wait for a call between ranks, which has its own time-out.
std::chrono::milliseconds Formation::host_limit() const {
  return 2 * job_.config.cluster.timeouts.collective;
}

/// Another dealing may follow, which gives a rank more slices.
bool Formation::may_accumulate() const {
  return job_.config.data.deals_anew() &&
         generation_.dealing.slices() > generation_.dealing.world_size();
}

/// Where each rank trains by itself, each has a first slice of its own.
bool Formation::keeps_statistics(int rank) const {
  const auto& dealing = generation_.dealing;
  if (strategy_.is_asynchronous())
    return false;
  if (strategy_.trains_apart())
    return may_accumulate() || dealing.slices_of(rank) > 1;
  return dealing.keeps_statistics(rank) || (rank == 0 && may_accumulate());
}

Status Formation::add_state(Replica& replica) const {
  const auto& layout = replica.train().layout();
  TROUPE_TRY(
      auto state,
      ModelState::create(
          replica.device(), layout,
          {.optimizer_slots = optimizer_slot_names(job_.optimizer(0)),
           .accumulate = !strategy_.is_asynchronous() &&
                         (generation_.dealing.passes() > 1 || may_accumulate()),
           .keeps_statistics = layout.statistic_elements > 0 && keeps_statistics(replica.rank),
           .commits_statistics = commits_statistics(),
           .loss_scale = job_.loss_scale,
           .stored = stored_type(job_.precision),
           .strategy = strategy_,
           .rank = replica.rank,
           .buckets = collectives::wrap_units(job_.config.parallel, layout.unit_elements,
                                              layout.unit_names),
           .rates = nn::parameter_rates(job_.config.train, layout),
           .saves_part = job_.config.checkpoint.is_sharded(),
           .snapshots = job_.saves(replica.rank) && job_.plan.saves_while_training(),
           .prepares = generation_.votes() && !strategy_.trains_apart() &&
                       lies_apart(strategy_, generation_.seat.generation),
           .buddy_of = generation_.buddies
                           ? std::optional{generation_.buddies.owner_of(replica.rank)}
                           : std::nullopt,
           .keeps_base = generation_.votes() && strategy_.trains_apart(),
           .outer_momentum = strategy_.has_teams() && strategy_.outer.momentum > 0}));
  replica.state = std::move(state);
  bind(replica.train(), *replica.state);
  replica.state->write(replica.train().copies());
  if (replica.evaluates())
    bind(replica.evaluate(), *replica.state);
  return replica.state->load(*replica.compute, *generation_.host->state);
}

/// Whether statistics of a step that counts have a place of their own.
bool Formation::commits_statistics() const {
  return strategy_.is_asynchronous() || (generation_.votes() && !strategy_.trains_apart());
}

Status Formation::open_post(const std::shared_ptr<collectives::Meeting>& meeting,
                            std::size_t most_bytes) {
  const auto& record = generation_.seat.generation;
  const auto& timeouts = job_.config.cluster.timeouts;
  collectives::PostOptions options{
      .process = static_cast<int>(record.index_of(generation_.replicas.front()->rank)),
      .group = fmt::format("{}/post", record.number),
      .most_bytes = most_bytes,
      .timeout = timeouts.collective,
      .connect_timeout = timeouts.quorum};
  for (int rank = 0; rank < generation_.world_size; ++rank)
    options.process_of.push_back(static_cast<int>(record.index_of(rank)));
  if (record.nodes.size() > 1)
    for (const auto& node : record.nodes)
      options.endpoints.push_back(net::peer_endpoint(node.data));
  TROUPE_TRY(generation_.post, collectives::Post::open(std::move(options), meeting));
  return {};
}

Status Formation::add_owners(const std::shared_ptr<collectives::Meeting>& meeting) {
  const auto& state = *generation_.replicas.front()->state;
  TROUPE_TRY(open_post(meeting,
                       std::max(state.plan().shard_elements(), state.layout().statistic_elements) *
                           sizeof(float)));
  for (const auto& replica : generation_.replicas) {
    auto exchange = generation_.exchange(replica);
    exchange.row = generation_.trace.track(rank_rows(replica->rank), "owner");
    TROUPE_TRY(auto owner,
               ShardOwner::create(std::move(exchange), owner_options(job_.config.parallel)));
    generation_.owners.push_back(std::move(owner));
  }
  return {};
}

Status Formation::add_outer(const std::shared_ptr<collectives::Meeting>& meeting) {
  for (const auto& replica : generation_.replicas) {
    TROUPE_TRY(auto outer, OuterState::create(replica));
    std::shared_ptr<ChangeSum> sum;
    if (outer->leads()) {
      TROUPE_TRY(sum, ChangeSum::create(replica, outer->fragments()));
    }
    generation_.outer.push_back(std::move(outer));
    generation_.sums.push_back(std::move(sum));
  }
  return open_post(meeting, largest(generation_.outer.front()->fragments()) * sizeof(float));
}

Status Formation::add_fillers() {
  // Host streams read and augment, whatever the device is.
  for (std::int64_t i = 0; i < job_.config.data.loader_threads; ++i)
    generation_.loader_streams.push_back(
        {std::make_shared<cpu::HostStream>(StreamOptions{.name = "loader"}),
         generation_.trace.track(node_rows, fmt::format("loader {}", i)), generation_.loader_work});
  FillerMaker maker{*generation_.host->devices,
                    {.training = job_.training,
                     .evaluation = generation_.evaluation,
                     .prefetch = job_.config.data.prefetch,
                     .dealing = generation_.dealing},
                    generation_.loader_streams,
                    generation_.trace};
  for (const auto& replica : generation_.replicas) {
    TROUPE_TRY(auto fillers, maker.make(replica->rank, *replica->equipment));
    generation_.fillers.push_back(std::move(fillers));
  }
  return {};
}

} // namespace

Generation::Generation(std::shared_ptr<Host> on, Seat given, metrics::Trace to)
    : host{std::move(on)}, seat{std::move(given)}, world_size{seat.generation.world_size()},
      strategy{collectives::strategy_of(host->job->config.parallel, world_size)},
      buddies{buddies_of(host->job->config.parallel, strategy, seat.generation)},
      dealing{strategy.is_asynchronous()
                  ? data::Dealing::leased(static_cast<int>(host->slices), world_size)
                  : data::Dealing{static_cast<int>(host->slices), world_size}},
      trace{std::move(to)} {}

Generation::~Generation() {
  drain();
  for (const auto& replica : replicas) {
    unbind(replica->train());
    if (replica->evaluates())
      unbind(replica->evaluate());
  }
}

metrics::RunInfo Generation::info() const {
  auto info = run_info(job().config);
  info.recompute = host->recompute;
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
  info.operations_per_step = host->operations * static_cast<double>(host->slices);
  info.host = seat.place().host;
  info.started = std::chrono::system_clock::now();
  return info;
}

ExchangeSetup Generation::exchange(const std::shared_ptr<Replica>& replica) const {
  return {.replica = replica,
          .dealing = dealing,
          .votes = votes(),
          .buddy_distance = buddies.distance,
          .clip_norm = job().config.train.clip_grad_norm,
          .norm_every = job().config.train.gradient_norm_every,
          .loss_scale = job().loss_scale,
          .optimizer = job().optimizer};
}

void Generation::drain() const {
  for (const auto& replica : replicas)
    for (const auto& stream : {replica->compute, replica->communication, replica->copies,
                               replica->updates, replica->owner})
      if (stream)
        std::ignore = stream->synchronize();
  for (const auto& loader : loader_streams)
    std::ignore = loader.stream->synchronize();
}

Result<std::shared_ptr<Generation>>
form_generation(const std::shared_ptr<Host>& host, const Seat& seat,
                const std::shared_ptr<collectives::Meeting>& meeting, const metrics::Trace& trace) {
  auto generation = std::make_shared<Generation>(host, seat, trace);
  TROUPE_TRY(Formation{*generation}.run(meeting));
  host->state.reset();
  const auto before = std::make_shared<const HeldStates>(
      begun_with(std::exchange(host->held, {}), generation->first_step));
  for (const auto& replica : generation->replicas)
    replica->before = before;
  return generation;
}

Result<std::shared_ptr<Generation>> form_alone(const Config& config) {
  TROUPE_TRY(auto beginning, find_beginning(config, run_folder(config)));
  TROUPE_TRY(auto job, open_job(config, beginning));
  const auto workers = static_cast<std::int32_t>(config.devices.count);
  TROUPE_TRY(const auto host,
             make_host(std::move(job), config.slices(), std::move(beginning.state)));
  return form_generation(host, seat_alone(workers, host_name()));
}

} // namespace troupe::engine
