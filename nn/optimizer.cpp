#include "nn/optimizer.hpp"

namespace troupe::nn {

OptimizerArguments optimizer_arguments(const OptimizerConfig& config) {
  return {.kind = config.name,
          .lr = static_cast<float>(config.lr),
          .momentum = static_cast<float>(config.momentum),
          .nesterov = config.nesterov,
          .weight_decay = static_cast<float>(config.weight_decay),
          .beta1 = static_cast<float>(config.betas[0]),
          .beta2 = static_cast<float>(config.betas[1]),
          .eps = static_cast<float>(config.eps)};
}

OptimizerArguments at_step(OptimizerArguments arguments, std::int64_t step, double lr,
                           float gradient_scale) {
  arguments.step = step + 1;
  arguments.lr = static_cast<float>(lr);
  arguments.gradient_scale = gradient_scale;
  return arguments;
}

} // namespace troupe::nn
