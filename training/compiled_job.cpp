#include "training/compiled_job.hpp"

#include "core/config/augmentation.hpp"
#include "core/device/rounded_executable.hpp"
#include "core/fail.hpp"
#include "data/image_adapter.hpp"
#include "nn/compile.hpp"
#include "nn/cost.hpp"
#include "nn/models/input.hpp"
#include "training/initial_state.hpp"
#include "training/platforms/platforms.hpp"
#include "training/reducer/host_optimizer.hpp"

namespace troupe::training {

namespace {

/// Builds the parts of a compiled job in order of their dependencies.
class JobCompiler {
public:
  JobCompiler(std::shared_ptr<const Job> job, std::int64_t slices, StateSourcePtr resume_point,
              const Preparing& preparing)
      : compiled_job_{std::make_shared<CompiledJob>(CompiledJob{
            .job = std::move(job), .slices = slices, .state = std::move(resume_point)})},
        preparing_{preparing} {}

  Result<std::shared_ptr<CompiledJob>> run() {
    TROUPE_TRY(micro_batch_, job().training->sampler().largest_slice(
                                 {0, static_cast<int>(compiled_job_->slices)}));
    compiled_job_->devices = platform_of(config().devices).make_devices(config(), preparing_.say);
    for (int worker = 0; worker < config().devices.count; ++worker)
      TROUPE_TRY(equip(worker));
    // Measures now, while the devices are idle; later calls return the cached value without
    // blocking.
    TROUPE_TRY(compiled_job_->devices->peak_operations(0, job().precision));
    return compiled_job_;
  }

private:
  const Job& job() const { return *compiled_job_->job; }
  const Config& config() const { return job().config; }
  Status equip(int worker);
  bool backward_may_add() const;
  Status compile(CompiledWorker& compiled, EngineOptions& engine);
  Status compile_evaluation(CompiledWorker& compiled, EngineOptions& engine);

  std::shared_ptr<CompiledJob> compiled_job_;
  const Preparing& preparing_;
  std::int64_t micro_batch_ = 0;
};

Status JobCompiler::equip(int worker) {
  if (preparing_.cancelled && preparing_.cancelled())
    return fail(Errc::stopped, "asked to stop before the job began");
  TROUPE_TRY(auto device, compiled_job_->devices->add());
  auto compiled = std::make_shared<CompiledWorker>(
      CompiledWorker{.worker = worker, .device = std::move(device)});
  if (config().parallel.offloads())
    TROUPE_TRY(add_updater(*compiled, threads_per_worker(config().devices)));
  TROUPE_TRY(auto engine, compiled_job_->devices->engine_options(worker));
  engine.passes.input = compiled_job_->devices->preferred_input(
      data::may_augment_on_device(job().training->adapter()));
  const auto labels = config().data.batch_size * nn::input_spec(config()).labels_of_sample();
  engine.passes.loss_rows =
      static_cast<double>(labels) / static_cast<double>(compiled_job_->slices);
  TROUPE_TRY(compile(*compiled, engine));
  if (job().evaluation)
    TROUPE_TRY(compile_evaluation(*compiled, engine));
  compiled_job_->compiled.push_back(std::move(compiled));
  return {};
}

/// If the job's first ranks have several slices each. After a loss of ranks, SHARD MANAGER may add
/// gradients instead.
bool JobCompiler::backward_may_add() const {
  const auto world = static_cast<int>(config().workers());
  return compiled_job_->slices > world && stored_type(job().precision) == DType::f32 &&
         strategy_of(config().parallel, world).keeps_gradients();
}

Status JobCompiler::compile(CompiledWorker& compiled, EngineOptions& engine) {
  TROUPE_TRY(auto model,
             nn::prepare_model(config(), micro_batch_, nn::PassMode::training, engine.passes));
  const auto cost = nn::cost_of(model.graph);
  compiled_job_->operations = cost.operations;
  if (const auto& recompute = model.recompute) {
    compiled_job_->operations /= 1 + recompute->operations_ratio;
    compiled_job_->recompute = {model.memory.arena_bytes, recompute->arena_without,
                                recompute->operations_ratio};
  }
  compiled_job_->operations -= cost.repeated;
  engine.compile.memory = std::move(model.memory);
  engine.compile.adds_gradients = engine.can_add_gradients && backward_may_add();
  TROUPE_TRY(compiled.train, compiled.device->compile(model.graph, engine.compile));
  engine.compile.adds_gradients = false;
  compiled.input = nn::input_format(model.graph);
  const auto stored = stored_type(job().precision);
  const auto buffers = config().parallel.mixed_precision.buffers;
  const RoundedTypes rounded{stored, stored == DType::f32 ? buffers : stored};
  if (rounded.statistics != DType::f32)
    compiled.train = with_rounded_results(std::move(compiled.train), *compiled.device, rounded);
  if (!compiled_job_->initial)
    compiled_job_->initial = initial_state(model.graph, config().run.seed);
  if (compiled_job_->state)
    return {};
  compiled_job_->state = compiled_job_->initial;
  // Ranks that each have all parameters would each draw all of them.
  if (config().devices.count > 1 && !config().parallel.divides_parameters()) {
    TROUPE_TRY(auto drawn, read_whole(*compiled_job_->state));
    compiled_job_->state = state_in_memory(std::move(drawn));
  }
  return {};
}

Status JobCompiler::compile_evaluation(CompiledWorker& compiled, EngineOptions& engine) {
  TROUPE_TRY(auto model, nn::prepare_model(config(), config().data.eval_batch_size,
                                           nn::PassMode::evaluation, engine.passes));
  engine.compile.memory = std::move(model.memory);
  engine.compile.layout = &compiled.train->layout();
  TROUPE_TRY(compiled.evaluate, compiled.device->compile(model.graph, engine.compile));
  return {};
}

} // namespace

Result<std::shared_ptr<CompiledJob>> compile_job(std::shared_ptr<const Job> job,
                                                 std::int64_t slices, StateSourcePtr resume_point,
                                                 const Preparing& preparing) {
  return JobCompiler{std::move(job), slices, std::move(resume_point), preparing}.run();
}

Result<Graph> training_graph(const Config& config) {
  const auto devices = platform_of(config.devices).make_devices(config, {});
  TROUPE_TRY(const auto device, devices->add());
  TROUPE_TRY(auto engine, devices->engine_options(0));
  engine.passes.input = devices->preferred_input(may_augment_on_device(config.data));
  const auto slices = config.slices();
  const auto micro_batch = (config.data.batch_size + slices - 1) / slices; // the largest
  TROUPE_TRY(auto model,
             nn::prepare_model(config, micro_batch, nn::PassMode::training, engine.passes));
  return std::move(model.graph);
}

} // namespace troupe::training
