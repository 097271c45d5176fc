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

EngineOptions without_fusion(const Config& config) {
  auto options = common_options(config);
  options.passes.memory.alignment = gpu::tensor_alignment;
  options.compile.tf32 = config.precision.mode == "tf32";
  return options;
}

} // namespace

EngineOptions cuda_options(const Config& config, gpu::PlanBook& plans) {
  auto options = without_fusion(config);
  if (fuses_statistics(config))
    options.passes.fuse_statistics = fusion_support(plans, options.compile);
  return options;
}

/// Plans are not asked for where nothing can be fused: opening cuDNN takes long.
Result<EngineOptions> cuda_options(const Config& config, gpu::CudaDevice& device) {
  if (!fuses_statistics(config))
    return without_fusion(config);
  TROUPE_TRY(auto* const plans, device.plans());
  return cuda_options(config, *plans);
}

/// What a device cannot augment is made on the host, which writes f32.
nn::InputFormat cuda_input(const Config& config, bool augments) {
  return augments ? nn::InputFormat{.dtype = nn::image_type(config), .channels = 4}
                  : nn::InputFormat{};
}

} // namespace troupe::engine
