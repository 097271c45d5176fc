#include "devices.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/cpu/engines.hpp"
#include "troupe/cpu/host_device.hpp"
#ifdef TROUPE_HAS_CUDA
#include "troupe/gpu/cuda_device.hpp"
#include "troupe/gpu/lowering/alignment.hpp"
#include "troupe/gpu/lowering/fusion.hpp"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace troupe::engine {

namespace {

int cuda_devices() {
#ifdef TROUPE_HAS_CUDA
  return gpu::cuda_device_count();
#else
  return 0;
#endif
}

Result<std::shared_ptr<Device>> make_cuda([[maybe_unused]] int index,
                                          [[maybe_unused]] const SayLine& say) {
#ifdef TROUPE_HAS_CUDA
  auto device = gpu::make_cuda_device(index, say);
  if (!device)
    return failure(device.error());
  return std::shared_ptr<Device>{std::move(*device)};
#else
  return fail(Errc::unsupported,
              "devices.kind is cuda, but this build has no CUDA device; use cpu or auto");
#endif
}

} // namespace

DeviceKind device_kind(const DevicesConfig& devices) {
  if (devices.kind == "cuda")
    return DeviceKind::cuda;
  const bool host = devices.kind == "cpu" || devices.engine == "interpreter"; // which is the host's
  // A GPU that several workers share is for who asks for it.
  return host || cuda_devices() < devices.count ? DeviceKind::host : DeviceKind::cuda;
}

int threads_per_worker(const DevicesConfig& devices) {
  if (devices.threads_per_worker > 0)
    return static_cast<int>(devices.threads_per_worker);
  const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  return static_cast<int>(std::max<std::int64_t>(1, cores / devices.count));
}

std::string arithmetic(const Config& config, Precision precision) {
  const auto type = compute_type(precision);
  if (device_kind(config.devices) == DeviceKind::cuda)
    return describe(precision, type);
  if (config.devices.engine == "interpreter")
    return "the interpreter's: exact to double precision, then rounded";
  return describe(precision, cpu::arithmetic_type(type));
}

Result<std::shared_ptr<Device>> make_device(const DevicesConfig& devices, int index,
                                            const SayLine& say) {
  if (device_kind(devices) == DeviceKind::cuda)
    return make_cuda(index % std::max(1, cuda_devices()), say);
  return std::shared_ptr<Device>{cpu::make_host_device(index, threads_per_worker(devices))};
}

namespace {

#ifdef TROUPE_HAS_CUDA
/// The device's times; choices go into its book of plans.
nn::FusionSupport fusion_support(gpu::PlanBook& plans, const CompileOptions& options) {
  return {
      gpu::fusion_times(plans, gpu::policy_of(options)), [&plans](const nn::FusionChoice& choice) {
        const auto apart = choice.apart ? fmt::format("{:.1f} us", *choice.apart) : "no way";
        plans.note(fmt::format("choice of {} at {} {}: {} (fused {:.1f} us, apart {})", choice.what,
                               choice.at.shape.to_string(), to_string(choice.at.dtype),
                               choice.taken ? "fused" : "apart", choice.fused, apart));
      }};
}
#endif

/// What cuDNN's engines fuse exists for f16 and bf16 alone.
Status add_cuda_options([[maybe_unused]] const Config& config, [[maybe_unused]] Device& device,
                        [[maybe_unused]] EngineOptions& options) {
#ifdef TROUPE_HAS_CUDA
  options.passes.memory.alignment = gpu::tensor_alignment;
  options.compile.tf32 = config.precision.mode == "tf32";
  const auto precision = precision_of(config.precision.mode);
  if (config.devices.fusion != "full" || !precision || compute_type(*precision) == DType::f32)
    return {};
  const auto plans = static_cast<gpu::CudaDevice&>(device).plans();
  if (!plans)
    return failure(plans.error());
  options.passes.fuse_statistics = fusion_support(**plans, options.compile);
#endif
  return {};
}

} // namespace

Result<EngineOptions> engine_options(const Config& config, Device& device) {
  EngineOptions options;
  options.compile.deterministic = config.run.deterministic;
  options.compile.threads = threads_per_worker(config.devices);
  if (config.devices.engine == "interpreter") { // the truth runs the graph as the model was written
    options.compile.engine = CompileOptions::Engine::interpreter;
    return options;
  }
  options.passes.fuse = nn::FusePatterns::all();
  // Every device's kernels read before they write.
  options.passes.memory.also_in_place.push_back(Op::batch_norm_backward);
  if (device.info().kind == DeviceKind::cuda)
    TROUPE_TRY(add_cuda_options(config, device, options));
  return options;
}

} // namespace troupe::engine
