#include "nn/optimizer.hpp"

#include "core/fail.hpp"
#include "core/suggestion.hpp"

#include <algorithm>

namespace troupe::nn {

// In the order of OptimizerKind.
const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = {"sgd", "adam", "adamw"};
  return names;
}

Result<OptimizerArguments> optimizer_arguments(const OptimizerConfig& config) {
  const auto& names = optimizer_names();
  const auto found = std::find(names.begin(), names.end(), config.name);
  if (found == names.end()) {
    const auto near = suggest(config.name, names);
    return fail(Errc::invalid_input, "there is no optimizer \"{}\": {}", config.name,
                near.empty() ? "known: sgd, adam, adamw" : "did you mean " + near + "?");
  }
  return OptimizerArguments{.kind = static_cast<OptimizerKind>(found - names.begin()),
                            .lr = static_cast<float>(config.lr),
                            .momentum = static_cast<float>(config.momentum),
                            .nesterov = config.nesterov,
                            .weight_decay = static_cast<float>(config.weight_decay),
                            .beta1 = static_cast<float>(config.beta1),
                            .beta2 = static_cast<float>(config.beta2),
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
