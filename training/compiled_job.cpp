#include "training/compiled_job.hpp"

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

/// Makes the parts of a host in the order in which they need each other.
class JobCompiler {
public:
  JobCompiler(std::shared_ptr<const Job> job, std::int64_t slices, StateSourcePtr resume_point,
              const Preparing& preparing)
      : host_{std::make_shared<CompiledJob>(CompiledJob{
            .job = std::move(job), .slices = slices, .state = std::move(resume_point)})},
        preparing_{preparing} {}

  Result<std::shared_ptr<CompiledJob>> run() {
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
  Status compile(CompiledWorker& compiled, EngineOptions& engine);
  Status compile_evaluation(CompiledWorker& compiled, EngineOptions& engine);

  std::shared_ptr<CompiledJob> host_;
  const Preparing& preparing_;
  std::int64_t micro_batch_ = 0;
};

Status JobCompiler::equip(int worker) {
  if (preparing_.cancelled && preparing_.cancelled())
    return fail(Errc::stopped, "asked to stop before the job began");
  TROUPE_TRY(auto device, host_->devices->add());
  auto compiled = std::make_shared<CompiledWorker>(
      CompiledWorker{.worker = worker, .device = std::move(device)});
  if (config().parallel.offloads())
    TROUPE_TRY(add_updater(*compiled, threads_per_worker(config().devices)));
  TROUPE_TRY(auto engine, host_->devices->engine_options(worker));
  engine.passes.input =
      host_->devices->preferred_input(data::may_augment_on_device(job().training->adapter()));
  const auto labels = config().data.batch_size * nn::input_spec(config()).labels_of_sample();
  engine.passes.loss_rows = static_cast<double>(labels) / static_cast<double>(host_->slices);
  TROUPE_TRY(compile(*compiled, engine));
  if (job().evaluation)
    TROUPE_TRY(compile_evaluation(*compiled, engine));
  host_->compiled.push_back(std::move(compiled));
  return {};
}

Status JobCompiler::compile(CompiledWorker& compiled, EngineOptions& engine) {
  TROUPE_TRY(auto model,
             nn::prepare_model(config(), micro_batch_, nn::PassMode::training, engine.passes));
  host_->operations = nn::operations_of(model.graph);
  if (const auto& recompute = model.recompute) {
    host_->operations /= 1 + recompute->operations_ratio;
    host_->recompute = {model.memory.arena_bytes, recompute->arena_without,
                        recompute->operations_ratio};
  }
  host_->operations -= nn::repeated_operations_of(model.graph);
  engine.compile.memory = std::move(model.memory);
  TROUPE_TRY(auto train, compiled.device->compile(model.graph, engine.compile));
  compiled.train = std::move(train);
  compiled.input = nn::input_format(model.graph);
  const auto stored = stored_type(job().precision);
  const auto buffers = float_type_of(config().parallel.mixed_precision.buffers);
  const RoundedTypes rounded{stored, stored == DType::f32 ? buffers : stored};
  if (rounded.statistics != DType::f32)
    compiled.train = with_rounded_results(std::move(compiled.train), *compiled.device, rounded);
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

} // namespace troupe::training
