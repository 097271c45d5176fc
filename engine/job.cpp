#include "job.hpp"

#include "devices.hpp"
#include "exchange/groups.hpp"
#include "exchange/host_optimizer.hpp"
#include "feeding/data_identity.hpp"
#include "feeding/fillers.hpp"
#include "trace_rows.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/rounded_executable.hpp"
#include "troupe/cpu/host_stream.hpp"
#include "troupe/nn/compile.hpp"
#include "troupe/nn/optimizer.hpp"
#include "troupe/nn/schedule.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace troupe::engine {

namespace {

/// Makes the parts of a job in the order in which they need each other.
class Preparation {
public:
  Preparation(const Config& config, JobStart start, const metrics::Trace& trace)
      : config_{config}, start_{std::move(start)}, world_{start_.seat.generation.world_size()},
        strategy_{collectives::strategy_of(config.parallel, world_)}, trace_{trace} {}

  Result<std::shared_ptr<Job>> run() {
    TROUPE_TRY(open_data());
    TROUPE_TRY(begin());
    TROUPE_TRY(make_replicas());
    TROUPE_TRY(make_fillers());
    describe();
    return std::make_shared<Job>(std::move(*job_));
  }

private:
  Status open_data();
  Status begin();
  Status make_replicas();
  Result<std::shared_ptr<Replica>> make_replica(int index);
  Status compile(Replica& replica);
  Status compile_evaluation(Replica& replica, EngineOptions& engine);
  Status load(Replica& replica, const Graph& graph);
  Status make_fillers();
  void describe();

  const Config& config_;
  JobStart start_;
  int world_;
  collectives::Strategy strategy_;
  metrics::Trace trace_;
  std::optional<Job> job_;
  std::int64_t micro_batch_ = 0;
};

Status Preparation::open_data() {
  auto training = data::training_batches(config_);
  if (!training)
    return failure(training.error());
  const auto slice =
      training->sampler().largest_slice({0, world_, 0, static_cast<int>(config_.train.accumulate)});
  if (!slice)
    return failure(slice.error());
  micro_batch_ = *slice;
  job_.emplace(Job{.config = config_,
                   .seat = start_.seat,
                   .plan = JobPlan{config_, training->sampler().steps_per_epoch()},
                   .folder = run_folder(config_),
                   .trace = trace_});
  // prepare_model refuses what is no precision.
  job_->precision = precision_of(config_.precision.mode).value_or(Precision::fp32);
  job_->training = std::make_shared<const data::BatchAssembler>(std::move(*training));
  job_->data_fingerprint = job_->training->dataset().fingerprint();
  if (config_.train.evaluate_every > 0) {
    auto evaluation = data::evaluation_batches(config_, world_);
    if (!evaluation)
      return failure(evaluation.error());
    job_->evaluation = std::make_shared<const data::BatchAssembler>(std::move(*evaluation));
  }
  return {};
}

Status Preparation::begin() {
  const auto& beginning = start_.beginning;
  job_->notes = beginning.notes;
  job_->checkpoint_metadata = checkpoint_metadata(config_);
  job_->checkpoint_metadata.merge(describe_data(job_->training->dataset(), job_->data_fingerprint));
  if (start_.seat.leads()) { // the others have not the checkpoint's metadata
    auto noted = check_same_data(beginning, job_->checkpoint_metadata);
    if (!noted)
      return failure(noted.error());
    std::ranges::move(*noted, std::back_inserter(job_->notes));
  }
  if (beginning.checkpoint)
    job_->first_step = beginning.checkpoint->step;
  if (job_->first_step > job_->plan.total_steps())
    return fail(Errc::invalid_input,
                "the checkpoint is of step {}, and the job ends at step {}; set train.epochs and "
                "train.max_steps to go on, or checkpoint.resume to never to begin afresh",
                job_->first_step, job_->plan.total_steps());
  if (job_->first_step > 0 && start_.seat.leads())
    job_->history = metrics::read_history(job_->folder);
  auto first = nn::optimizer_arguments(config_.train.optimizer);
  if (!first)
    return failure(first.error());
  first->stored = stored_type(job_->precision);
  if (const auto& largest = config_.train.clip_grad_value)
    first->clip_value = static_cast<float>(*largest);
  job_->loss_scale = loss_scale_options(config_.precision);
  const nn::ScheduleSpan span{job_->plan.steps_per_epoch(), job_->plan.total_steps()};
  job_->learning_rate = [lr = config_.train.optimizer.lr, schedule = config_.train.schedule,
                         span](std::int64_t step) {
    return nn::learning_rate(schedule, lr, step, span);
  };
  job_->optimizer = [first = *first, rate = job_->learning_rate](std::int64_t step) {
    return nn::at_step(first, step, rate(step));
  };
  return {};
}

Status Preparation::make_replicas() {
  for (int index = 0; index < start_.seat.place().workers; ++index) {
    auto replica = make_replica(index);
    if (!replica)
      return failure(replica.error());
    job_->replicas.push_back(std::move(*replica));
  }
  return join_groups(job_->replicas, strategy_,
                     {.generation = start_.seat.generation,
                      .timeouts = config_.cluster.timeouts,
                      .store = start_.store,
                      .statistics = config_.model.sync_batch_norm});
}

Result<std::shared_ptr<Replica>> Preparation::make_replica(int index) {
  auto replica = std::make_shared<Replica>();
  const auto threads = threads_per_worker(config_.devices);
  replica->rank = start_.seat.place().first_rank + index;
  auto device = make_device(config_.devices, index, start_.say);
  if (!device)
    return failure(device.error());
  replica->device = std::move(*device);
  replica->compute = replica->device->create_stream({.name = "compute", .threads = threads});
  // A single rank has nothing to overlap: one stream keeps one team of threads warm. Beside
  // backward, one thread is enough for sums: a second team would fight with the first.
  replica->communication =
      world_ == 1 && !strategy_.offloads()
          ? replica->compute
          : replica->device->create_stream({.name = "communication", .threads = 1, .urgent = true});
  if (strategy_.offloads())
    TROUPE_TRY(add_host_optimizer(*replica, threads));
  TROUPE_TRY(compile(*replica));
  return replica;
}

Status Preparation::compile(Replica& replica) {
  auto engine = engine_options(config_, *replica.device);
  if (!engine)
    return failure(engine.error());
  engine->passes.input = preferred_input(config_, job_->training->dataset().extent().has_value());
  engine->passes.loss_rows = static_cast<double>(config_.data.batch_size) /
                             static_cast<double>(world_ * config_.train.accumulate);
  auto training = nn::prepare_model(config_, micro_batch_, nn::Purpose::training, engine->passes);
  if (!training)
    return failure(training.error());
  if (const auto& recompute = training->recompute)
    job_->info.recompute = {training->memory.arena_bytes, recompute->arena_without,
                            recompute->operations_ratio};
  engine->compile.memory = std::move(training->memory);
  auto train = replica.device->compile(training->graph, engine->compile);
  if (!train)
    return failure(train.error());
  replica.train = std::move(*train);
  replica.input = nn::input_format(training->graph);
  const auto stored = stored_type(job_->precision);
  const auto buffers = float_type_of(config_.parallel.mixed_precision.buffers);
  const RoundedTypes rounded{stored, stored == DType::f32 ? buffers : stored};
  if (rounded.statistics != DType::f32)
    replica.train = with_rounded_results(std::move(replica.train), *replica.device, rounded);
  TROUPE_TRY(load(replica, training->graph));
  return job_->evaluation ? compile_evaluation(replica, *engine) : Status{};
}

Status Preparation::compile_evaluation(Replica& replica, EngineOptions& engine) {
  auto model = nn::prepare_model(config_, config_.data.eval_batch_size, nn::Purpose::evaluation,
                                 engine.passes);
  if (!model)
    return failure(model.error());
  engine.compile.memory = std::move(model->memory);
  engine.compile.layout = &replica.train->layout();
  auto evaluate = replica.device->compile(model->graph, engine.compile);
  if (!evaluate)
    return failure(evaluate.error());
  replica.evaluate = std::move(*evaluate);
  bind(*replica.evaluate, *replica.state);
  return {};
}

Status Preparation::load(Replica& replica, const Graph& graph) {
  const auto& layout = replica.train->layout();
  auto state =
      ModelState::create(*replica.device, layout,
                         {.optimizer_slots = optimizer_slot_names(job_->optimizer(0)),
                          .accumulate = config_.train.accumulate > 1,
                          .loss_scale = job_->loss_scale,
                          .stored = stored_type(job_->precision),
                          .strategy = strategy_,
                          .rank = replica.rank,
                          .buckets = collectives::wrap_units(config_.parallel, layout.unit_elements,
                                                             layout.unit_names),
                          .snapshots = replica.rank == 0 && job_->plan.saves_while_training()});
  if (!state)
    return failure(state.error());
  replica.state = std::move(*state);
  auto& checkpoint = start_.beginning.checkpoint;
  if (!checkpoint) {
    auto initial = initial_checkpoint(graph, config_.run.seed);
    if (!initial)
      return failure(initial.error());
    checkpoint = std::move(*initial);
  }
  bind(*replica.train, *replica.state);
  return replica.state->load(*replica.compute, *checkpoint);
}

Status Preparation::make_fillers() {
  // Host streams read and augment, whatever the device is.
  for (std::int64_t i = 0; i < config_.data.loader_threads; ++i)
    job_->loader_streams.push_back(
        {std::make_shared<cpu::HostStream>(StreamOptions{.name = "loader"}),
         trace_.track(node_rows, fmt::format("loader {}", i))});
  FillerFactory factory{config_, job_->training,       job_->evaluation,
                        world_,  job_->loader_streams, trace_};
  for (const auto& replica : job_->replicas) {
    auto fillers = factory.make(*replica);
    if (!fillers)
      return failure(fillers.error());
    job_->fillers.push_back(std::move(*fillers));
  }
  return {};
}

void Preparation::describe() {
  auto& info = job_->info;
  const auto recompute = info.recompute;
  info = run_info(config_);
  info.recompute = recompute;
  info.class_names = job_->training->dataset().info().class_names;
  job_->arithmetic = arithmetic(config_, job_->precision);
  info.world_size = world_;
  info.batch_size = config_.data.batch_size;
  info.steps_per_epoch = job_->plan.steps_per_epoch();
  info.total_steps = job_->plan.total_steps();
  info.first_step = job_->first_step;
  info.host = start_.seat.place().host;
  info.started = std::chrono::system_clock::now();
}

} // namespace

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

metrics::RunInfo run_info(const Config& config, const std::string& version) {
  return {.name = config.run.name,
          .model = config.model.name,
          .dataset = config.data.dataset,
          .strategy = config.parallel.strategy,
          .precision = config.precision.mode,
          .version = version};
}

Result<JobStart> start_alone(const Config& config) {
  auto beginning = find_beginning(config, run_folder(config));
  if (!beginning)
    return failure(beginning.error());
  const NodePlace here{.address = {},
                       .host = host_name(),
                       .first_rank = 0,
                       .workers = static_cast<std::int32_t>(config.devices.count)};
  return JobStart{.seat = {.refused = {}, .generation = {.number = 1, .nodes = {here}}},
                  .beginning = std::move(*beginning)};
}

Result<std::shared_ptr<Job>> prepare_job(const Config& config, JobStart start,
                                         const metrics::Trace& trace) {
  return Preparation{config, std::move(start), trace}.run();
}

} // namespace troupe::engine
