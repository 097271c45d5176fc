// Measures the part of a worker's memory that does not depend on the strategy: allocates as a job
// does, and reads the device's count. The host's device only counts. A GPU allocates, because its
// plans are chosen by running them. If it has too little memory, smaller batches are measured:
// memory that no strategy divides grows linearly with them.
#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "cpu/host_device.hpp"
#include "data/image_adapter.hpp"
#include "nn/learning_rates.hpp"
#include "nn/optimizer.hpp"
#include "training/input/batch_producers.hpp"
#include "training/job_plan.hpp"
#include "training/platforms/platforms.hpp"
#include "training/prediction/memory_prediction.hpp"
#include "training/prediction/stand_in_data.hpp"
#include "training/state/model_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe::training {

namespace {

std::uint64_t statistics_bytes(const Graph& training) {
  std::size_t values = 0;
  for (const auto& node : training.nodes)
    if (is_synchronized(node))
      values +=
          RankSums::count(static_cast<std::size_t>(training[node.inputs[0]].shape.dims.back()));
  return sizeof(double) * values;
}

std::vector<bool> frozen_units(const TrainConfig& train, const StorageLayout& layout) {
  std::vector<bool> frozen(layout.unit_elements.size(), true);
  const auto factors = nn::rate_factors(train, nn::parameter_names(layout));
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (factors[i] != 0)
      frozen[static_cast<std::size_t>(layout.parameters[i].unit)] = false;
  return frozen;
}

class Measurement {
public:
  explicit Measurement(Config config)
      : config_{std::move(config)}, world_{static_cast<int>(config_.workers())},
        devices_{platform_of(config_.devices).make_devices(config_, {})} {}

  Result<WorkerNeeds> run() {
    TROUPE_TRY(compiled_.device, devices_->add_for_planning());
    TROUPE_TRY(open_data());
    TROUPE_TRY(compile());
    add_streams();
    TROUPE_TRY(const auto producers,
               make_producers(*devices_, compiled_,
                              {.assembler = training_,
                               .slice = {0, static_cast<int>(config_.slices())},
                               .slots = config_.data.prefetch,
                               .host = HostLoader{streams_},
                               .streams = &streams_,
                               .trace = {}},
                              evaluation_, world_));
    return needs();
  }

private:
  Status open_data();
  Status compile();
  void add_streams();
  Status compile(std::int64_t batch, nn::PassMode pass_mode, EngineOptions& engine,
                 std::unique_ptr<Executable>& executable);
  WorkerNeeds needs() const;

  const Config config_;
  int world_;
  std::unique_ptr<PlatformDevices> devices_;
  CompiledWorker compiled_;
  std::vector<LoaderStream> streams_;
  std::vector<std::unique_ptr<Stream>> job_streams_;
  std::shared_ptr<const data::BatchAssembler> training_, evaluation_;
  std::uint64_t statistics_bytes_ = 0;
  bool can_add_gradients_ = false;
};

Status Measurement::open_data() {
  TROUPE_TRY(auto training, data::training_batches(config_));
  training_ = std::make_shared<const data::BatchAssembler>(std::move(training));
  if (config_.train.evaluate_every == 0)
    return {};
  TROUPE_TRY(auto evaluation, data::evaluation_batches(config_, world_));
  evaluation_ = std::make_shared<const data::BatchAssembler>(std::move(evaluation));
  return {};
}

Status Measurement::compile() {
  TROUPE_TRY(auto engine, devices_->engine_options(0));
  can_add_gradients_ = engine.can_add_gradients;
  engine.passes.input =
      devices_->preferred_input(data::may_augment_on_device(training_->adapter()));
  TROUPE_TRY(const auto slice,
             training_->sampler().largest_slice({0, static_cast<int>(config_.slices())}));
  TROUPE_TRY(compile(slice, nn::PassMode::training, engine, compiled_.train));
  if (!evaluation_)
    return {};
  engine.compile.layout = &compiled_.train->layout();
  return compile(config_.data.eval_batch_size, nn::PassMode::evaluation, engine,
                 compiled_.evaluate);
}

/// Creates a job's streams, because each takes device memory. With several workers, a worker has
/// another stream for communication, and its communicator has one.
void Measurement::add_streams() {
  job_streams_.push_back(compiled_.device->create_stream({.name = "compute"}));
  for (const char* name : {"communication", "collectives"})
    if (world_ > 1)
      job_streams_.push_back(compiled_.device->create_stream({.name = name}));
}

Status Measurement::compile(std::int64_t batch, nn::PassMode pass_mode, EngineOptions& engine,
                            std::unique_ptr<Executable>& executable) {
  TROUPE_TRY(auto model, nn::prepare_model(config_, batch, pass_mode, engine.passes));
  if (pass_mode == nn::PassMode::training)
    statistics_bytes_ = statistics_bytes(model.graph);
  compiled_.input = nn::input_format(model.graph);
  engine.compile.memory = std::move(model.memory);
  TROUPE_TRY(executable, compiled_.device->compile(model.graph, engine.compile));
  return {};
}

WorkerNeeds Measurement::needs() const {
  const auto optimizer = nn::optimizer_arguments(config_.train.optimizer);
  const auto& layout = compiled_.train->layout();
  const data::SliceAssignment slice_assignment{static_cast<int>(config_.slices()), world_};
  const auto& info = compiled_.device->info();
  const JobPlan plan{config_, training_->sampler().steps_per_epoch()};
  // Workers of a host share its memory.
  const auto workers = static_cast<std::size_t>(config_.devices.count);
  const bool on_host = info.on_host;
  const auto host = cpu::make_host_device(0, 1)->info().memory_bytes / workers;
  return WorkerNeeds{
      .world_size = world_,
      .unit_elements = layout.unit_elements,
      .unit_names = layout.unit_names,
      .unit_frozen = frozen_units(config_.train, layout),
      .statistic_elements = layout.statistic_elements,
      .optimizer_slots = optimizer_slot_names(optimizer).size(),
      .passes = slice_assignment.passes(),
      .keeps_statistics = layout.statistic_elements > 0 && slice_assignment.keeps_statistics(0),
      .votes = config_.cluster.min_nodes > 1,
      .workers_of_node = static_cast<int>(config_.devices.count),
      .adds_gradients = can_add_gradients_ && stored_type(config_.precision.mode) == DType::f32,
      .scales_loss = loss_scale_options(config_.precision).has_value(),
      .snapshots = plan.saves_while_training(),
      .saves_shard = config_.checkpoint.is_sharded(),
      .statistics_bytes = statistics_bytes_,
      .undivided = compiled_.device->memory().peak,
      .capacity = on_host ? host : info.memory_bytes,
      .host_capacity = on_host ? std::nullopt : std::optional{host}};
}

/// `training`: samples of a micro-batch.
Config with_sizes(Config config, std::int64_t training, std::int64_t evaluation) {
  config.data.batch_size = training * config.slices();
  config.data.eval_batch_size = evaluation;
  return config;
}

/// Extrapolates from batches so small that they fit on any GPU.
Result<WorkerNeeds> extrapolate_needs(const Config& config) {
  constexpr std::int64_t few = 2;
  const auto slices = config.slices();
  const auto micro_batch = (config.data.batch_size + slices - 1) / slices;
  TROUPE_TRY(auto needs, Measurement{with_sizes(config, few, few)}.run());
  TROUPE_TRY(const auto training, Measurement{with_sizes(config, 2 * few, few)}.run());
  TROUPE_TRY(const auto evaluation, Measurement{with_sizes(config, few, 2 * few)}.run());
  for (std::size_t kind = 0; kind < memory_kinds; ++kind) {
    const auto base = static_cast<double>(needs.undivided[kind]);
    const auto more = [&](const WorkerNeeds& larger, std::int64_t samples) {
      return (static_cast<double>(larger.undivided[kind]) - base) / few *
             static_cast<double>(samples - few);
    };
    needs.undivided[kind] = static_cast<std::size_t>(std::max(
        0.0, base + more(training, micro_batch) + more(evaluation, config.data.eval_batch_size)));
  }
  return needs;
}

Result<WorkerNeeds> measure_or_extrapolate(const Config& config) {
  auto needs = Measurement{config}.run();
  return needs || needs.error().code != Errc::out_of_memory ? needs : extrapolate_needs(config);
}

} // namespace

Result<WorkerNeeds> measure_needs(const Config& config) {
  auto needs = measure_or_extrapolate(config);
  if (needs || needs.error().code != Errc::data)
    return needs;
  const auto missing = needs.error().message;
  needs = measure_or_extrapolate(without_data(config));
  if (needs)
    needs->note = fmt::format("planned without the data set: {}", missing);
  return needs;
}

} // namespace troupe::training
