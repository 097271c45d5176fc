#include "compile.hpp"

#include "passes/autocast.hpp"
#include "passes/autodiff.hpp"
#include "passes/scale_loss.hpp"
#include "troupe/core/fail.hpp"
#include "validate.hpp"

namespace troupe::nn {

Result<PreparedModel> run_passes(const Graph& forward, Purpose purpose,
                                 const PassOptions& options) {
  const auto precision = options.precision;
  if (precision == Precision::fp16 || precision == Precision::bf16)
    return fail(Errc::unsupported, "precision {} is not there yet: there is amp_{}",
                to_string(precision), to_string(precision));
  auto graph = fuse(format_input(forward, options.input), options.fuse, options.memory.keep);
  if (const auto compute = compute_type(precision); compute != DType::f32)
    graph = autocast(graph, compute);
  if (purpose == Purpose::training) {
    auto differentiated = autodiff(std::move(graph));
    if (!differentiated)
      return failure(std::move(differentiated).error());
    graph = scales_loss(precision) ? scale_loss(*differentiated) : std::move(*differentiated);
    graph = nn::fuse_statistics(graph, options.fuse_statistics, options.memory.keep);
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
  const auto precision = precision_of(mode);
  if (!precision)
    return fail(Errc::invalid_input, "there is no precision \"{}\"", mode);
  options.precision = *precision;
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
