#include "training/platforms/detail/cuda_options.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "gpu/alignment.hpp"
#include "gpu/lowering/fusion.hpp"
#include "training/platforms/detail/common.hpp"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>

namespace troupe::training {

namespace {

std::string text_of(const nn::FusionChoice& choice) {
  const auto apart = choice.apart ? fmt::format("{:.1f} us", *choice.apart) : "not possible";
  return fmt::format("choice of {} at {} {}: {} (fused {:.1f} us, separate {})", choice.what,
                     choice.at.shape.to_string(), to_string(choice.at.dtype),
                     choice.taken ? "fused" : "separate", choice.fused, apart);
}

/// Uses the times in the plan registry, and records choices in it.
nn::FusionSupport fusion_support(gpu::PlanRegistry& plans, const CompileOptions& options) {
  return {gpu::fusion_times(plans, gpu::policy_of(options)),
          [&plans](const nn::FusionChoice& choice) { plans.note(text_of(choice)); }};
}

/// Measures times on the device; reports each choice once.
Result<nn::FusionSupport> fusion_support(gpu::CudaDevice& device, const CompileOptions& options) {
  TROUPE_TRY(const auto rates, gpu::DeviceRates::of_device(device.info().index));
  return nn::FusionSupport{
      gpu::fusion_times(device, rates, gpu::policy_of(options)),
      [&device, said = std::make_shared<std::set<std::string>>()](const nn::FusionChoice& choice) {
        if (const auto [line, first] = said->insert(text_of(choice)); first)
          device.say(*line);
      }};
}

/// Whether training graphs are fused: the engines and kernels for that exist only for f16 and bf16.
bool fuses(const Config& config) {
  return config.devices.fusion == Fusion::full && compute_type(config.precision.mode) != DType::f32;
}

EngineOptions without_fusion(const Config& config) {
  auto options = common_options(config);
  options.passes.memory.alignment = gpu::tensor_alignment;
  options.compile.tf32 = config.precision.mode == Precision::tf32;
  options.can_add_gradients = true;
  options.compile.fused_attention = config.devices.fusion == Fusion::full;
  return options;
}

} // namespace

EngineOptions cuda_options(const Config& config, gpu::PlanRegistry& plans) {
  auto options = without_fusion(config);
  if (fuses(config))
    options.passes.fuse_statistics = fusion_support(plans, options.compile);
  return options;
}

Result<EngineOptions> cuda_options(const Config& config, gpu::CudaDevice& device) {
  auto options = without_fusion(config);
  if (fuses(config)) {
    TROUPE_TRY(options.passes.fuse_statistics, fusion_support(device, options.compile));
  }
  return options;
}

/// Batches that a device cannot augment are made on the host, which writes f32.
nn::InputFormat cuda_input(const Config& config, bool augments) {
  return augments ? nn::InputFormat{.dtype = nn::image_type(config), .channels = 4}
                  : nn::InputFormat{};
}

} // namespace troupe::training
