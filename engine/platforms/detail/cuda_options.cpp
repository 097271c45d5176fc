#include "cuda_options.hpp"

#include "common.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/gpu/lowering/alignment.hpp"
#include "troupe/gpu/lowering/fusion.hpp"

#include <fmt/format.h>

namespace troupe::engine {

namespace {

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

/// What cuDNN's engines fuse exists for f16 and bf16 alone.
bool fuses_statistics(const Config& config) {
  const auto precision = precision_of(config.precision.mode);
  return config.devices.fusion == "full" && precision && compute_type(*precision) != DType::f32;
}

} // namespace

Result<EngineOptions> cuda_options(const Config& config, gpu::CudaDevice& device) {
  auto options = common_options(config);
  options.passes.memory.alignment = gpu::tensor_alignment;
  options.compile.tf32 = config.precision.mode == "tf32";
  if (!fuses_statistics(config))
    return options;
  TROUPE_TRY(const auto plans, device.plans());
  options.passes.fuse_statistics = fusion_support(*plans, options.compile);
  return options;
}

} // namespace troupe::engine
