#include "engine/host.hpp"

#include "core/device/rounded_executable.hpp"
#include "core/fail.hpp"
#include "data/image_adapter.hpp"
#include "engine/exchange/host_optimizer.hpp"
#include "engine/initial_state.hpp"
#include "engine/platforms/platforms.hpp"
#include "nn/compile.hpp"
#include "nn/cost.hpp"
#include "nn/models/input.hpp"

namespace troupe::engine {

namespace {

/// Makes the parts of a host in the order in which they need each other.
class HostMaker {
public:
  HostMaker(std::shared_ptr<const Job> job, std::int64_t slices, StateSourcePtr beginning,
            const Preparing& preparing)
      : host_{std::make_shared<Host>(
            Host{.job = std::move(job), .slices = slices, .state = std::move(beginning)})},
        preparing_{preparing} {}

  Result<std::shared_ptr<Host>> run() {
    TROUPE_TRY(micro_batch_,
               job().training->sampler().largest_slice({0, static_cast<int>(host_->slices)}));
    host_->devices = platform_of(config().devices).make_devices(config(), preparing_.say);
    for (int worker = 0; worker < config().devices.count; ++worker)
      TROUPE_TRY(equip(worker));
    // Measures now, when nothing is computed yet; who asks later need not block.
    TROUPE_TRY(host_->devices->peak_operations(0, job().precision));
    return host_;
  }

private:
  const Job& job() const { return *host_->job; }
  const Config& config() const { return job().config; }
  Status equip(int worker);
  Status compile(Equipment& equipment, EngineOptions& engine);
  Status compile_evaluation(Equipment& equipment, EngineOptions& engine);

  std::shared_ptr<Host> host_;
  const Preparing& preparing_;
  std::int64_t micro_batch_ = 0;
};

Status HostMaker::equip(int worker) {
  if (preparing_.cancelled && preparing_.cancelled())
    return fail(Errc::stopped, "asked to stop before the job began");
  TROUPE_TRY(auto device, host_->devices->add());
  auto equipment =
      std::make_shared<Equipment>(Equipment{.worker = worker, .device = std::move(device)});
  if (config().parallel.offloads())
    TROUPE_TRY(add_updater(*equipment, threads_per_worker(config().devices)));
  TROUPE_TRY(auto engine, host_->devices->engine_options(worker));
  engine.passes.input =
      host_->devices->preferred_input(data::may_augment_on_device(job().training->adapter()));
  const auto labels = config().data.batch_size * nn::input_spec(config()).labels_of_sample();
  engine.passes.loss_rows = static_cast<double>(labels) / static_cast<double>(host_->slices);
  TROUPE_TRY(compile(*equipment, engine));
  if (job().evaluation)
    TROUPE_TRY(compile_evaluation(*equipment, engine));
  host_->equipment.push_back(std::move(equipment));
  return {};
}

Status HostMaker::compile(Equipment& equipment, EngineOptions& engine) {
  TROUPE_TRY(auto model,
             nn::prepare_model(config(), micro_batch_, nn::Purpose::training, engine.passes));
  host_->operations = nn::operations_of(model.graph);
  if (const auto& recompute = model.recompute) {
    host_->operations /= 1 + recompute->operations_ratio;
    host_->recompute = {model.memory.arena_bytes, recompute->arena_without,
                        recompute->operations_ratio};
  }
  host_->operations -= nn::repeated_operations_of(model.graph);
  engine.compile.memory = std::move(model.memory);
  TROUPE_TRY(auto train, equipment.device->compile(model.graph, engine.compile));
  equipment.train = std::move(train);
  equipment.input = nn::input_format(model.graph);
  const auto stored = stored_type(job().precision);
  const auto buffers = float_type_of(config().parallel.mixed_precision.buffers);
  const RoundedTypes rounded{stored, stored == DType::f32 ? buffers : stored};
  if (rounded.statistics != DType::f32)
    equipment.train = with_rounded_results(std::move(equipment.train), *equipment.device, rounded);
  if (!host_->initial)
    host_->initial = initial_state(model.graph, config().run.seed);
  if (host_->state)
    return {};
  host_->state = host_->initial;
  // Ranks that each have all parameters would each draw all of them.
  if (config().devices.count > 1 && !config().parallel.divides_parameters()) {
    TROUPE_TRY(auto drawn, read_whole(*host_->state));
    host_->state = state_in_memory(std::move(drawn));
  }
  return {};
}

Status HostMaker::compile_evaluation(Equipment& equipment, EngineOptions& engine) {
  TROUPE_TRY(auto model, nn::prepare_model(config(), config().data.eval_batch_size,
                                           nn::Purpose::evaluation, engine.passes));
  engine.compile.memory = std::move(model.memory);
  engine.compile.layout = &equipment.train->layout();
  TROUPE_TRY(equipment.evaluate, equipment.device->compile(model.graph, engine.compile));
  return {};
}

} // namespace

Result<std::shared_ptr<Host>> make_host(std::shared_ptr<const Job> job, std::int64_t slices,
                                        StateSourcePtr beginning, const Preparing& preparing) {
  return HostMaker{std::move(job), slices, std::move(beginning), preparing}.run();
}

} // namespace troupe::engine
