#include "compile.hpp"

#include "passes/autocast_bf16.hpp"
#include "passes/autodiff.hpp"
#include "troupe/core/fail.hpp"
#include "validate.hpp"

namespace troupe::nn {

Result<PreparedModel> run_passes(const Graph& forward, Purpose purpose,
                                 const PassOptions& options) {
  auto graph = fuse(forward, options.fuse, options.memory.keep);
  if (options.amp_bf16)
    graph = autocast_bf16(graph);
  if (purpose == Purpose::training) {
    auto differentiated = autodiff(std::move(graph));
    if (!differentiated)
      return failure(std::move(differentiated).error());
    graph = std::move(*differentiated);
  }
  TROUPE_TRY(validate(graph));
  auto planned = plan_memory(graph, options.memory);
  if (!planned)
    return failure(std::move(planned).error());
  return PreparedModel{std::move(graph), std::move(planned->plan), planned->lower_bound_bytes};
}

Result<PreparedModel> prepare_model(const Config& config, std::int64_t batch, Purpose purpose,
                                    PassOptions options) {
  const auto& mode = config.precision.mode;
  if (mode != "fp32" && mode != "amp_bf16")
    return fail(Errc::unsupported, "precision {} is not there yet: fp32, amp_bf16", mode);
  options.amp_bf16 = mode == "amp_bf16";
  const bool training = purpose == Purpose::training;
  const auto forward = build_model(
      config.model,
      {.image_size = config.data.image_size,
       .batch = batch,
       .training = training,
       .label_smoothing = training ? static_cast<float>(config.train.label_smoothing) : 0.0f});
  if (!forward)
    return failure(forward.error());
  return run_passes(*forward, purpose, options);
}

} // namespace troupe::nn
