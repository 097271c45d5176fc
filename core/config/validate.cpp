#include "core/config/validate.hpp"

#include "core/config/catalogue.hpp"
#include "core/escape.hpp"

#include <fmt/format.h>

#include <iterator>

namespace troupe {

namespace {

void append(ConfigConflicts& all, ConfigConflicts more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

std::vector<ConfigProblem> without_place(ConfigConflicts conflicts) {
  std::vector<ConfigProblem> problems;
  for (auto& conflict : conflicts)
    problems.push_back({.key = conflict.keys.front(),
                        .what = std::move(conflict.what),
                        .allowed = std::move(conflict.allowed),
                        .suggestion = std::move(conflict.suggestion)});
  return problems;
}

} // namespace

ConfigConflicts validate(const OptimizerConfig& optimizer) {
  if (optimizer.nesterov && optimizer.name != OptimizerKind::sgd)
    return {{{"train.optimizer.nesterov", "train.optimizer.name"},
             fmt::format("{} has no Nesterov momentum", to_string(optimizer.name)),
             "false, or train.optimizer.name: sgd"}};
  if (optimizer.nesterov && optimizer.momentum == 0)
    return {{{"train.optimizer.nesterov", "train.optimizer.momentum"},
             "nesterov has no effect without momentum",
             "false, or a momentum above 0"}};
  return {};
}

ConfigConflicts validate(const TrainConfig& train, const ModelConfig& model) {
  if (train.label_smoothing > 0 && model.loss != LossKind::cross_entropy)
    return {{{"train.label_smoothing", "model.loss"},
             fmt::format("{} has no label smoothing", to_string(model.loss)),
             "0, or loss: cross_entropy"}};
  return {};
}

ConfigConflicts refuse_rates_of_zero(const TrainConfig& train) {
  ConfigConflicts found;
  for (const auto& [name, factor] : train.lr_scale)
    if (factor == 0)
      found.push_back({{"train.lr_scale"},
                       fmt::format("{}: a factor of 0 would not train it", echoed(name)),
                       "above 0; to keep it unchanged, use train.freeze"});
  return found;
}

ConfigConflicts validate(const PrecisionConfig& precision, const DevicesConfig& devices,
                         const Capabilities& capabilities) {
  const bool on_host =
      devices.kind == DeviceKind::cpu || !capabilities.cuda_build || capabilities.cuda_devices == 0;
  if (on_host && devices.kind != DeviceKind::cuda && precision.mode == Precision::tf32)
    return {{{"precision.mode", "devices.kind"},
             "tf32 requires a CUDA device",
             "fp32, fp16, bf16, amp_fp16, amp_bf16"}};
  return {};
}

ConfigConflicts validate(const DevicesConfig& devices, const Capabilities& capabilities) {
  if (devices.kind != DeviceKind::cuda)
    return {};
  if (!capabilities.cuda_build)
    return {{{"devices.kind"}, "this build has no CUDA backend", "auto, cpu"}};
  if (capabilities.cuda_devices == 0)
    return {{{"devices.kind"}, "no CUDA device on this machine", "auto, cpu"}};
  if (devices.engine == Engine::interpreter)
    return {
        {{"devices.engine", "devices.kind"}, "the interpreter runs only on the CPU", "fastest"}};
  return {};
}

ConfigConflicts find_conflicts(const Config& c, const Capabilities& capabilities,
                               const Catalogue& catalogue) {
  ConfigConflicts all = validate(c.model, c.data);
  append(all, validate(c.data));
  append(all, validate(c.train.optimizer));
  append(all, validate(c.train.schedule, c.train));
  append(all, validate(c.train, c.data));
  append(all, validate(c.train, c.model));
  append(all, refuse_rates_of_zero(c.train));
  append(all, validate(c.precision, c.devices, capabilities));
  append(all, validate(c.devices, capabilities));
  append(all, validate(c.parallel, c, capabilities));
  append(all, validate(c.parallel.offload, c, capabilities));
  append(all, validate(c.cluster, c.metrics));
  if (catalogue.conflicts)
    append(all, catalogue.conflicts(c));
  return all;
}

Status to_status(ConfigConflicts conflicts) {
  const auto problems = without_place(std::move(conflicts));
  return problems.empty() ? Status{} : failure(to_error(problems));
}

std::vector<ConfigProblem> validate(const Config& config, const Capabilities& capabilities,
                                    const Catalogue& catalogue) {
  std::vector<ConfigProblem> problems;
  auto copy = config; // keys point to writable members
  for (const auto& key : config_keys(copy, catalogue))
    for (auto& breach : check_rule(key))
      problems.push_back({.key = key.path,
                          .what = std::move(breach.what),
                          .allowed = allowed_values(key),
                          .suggestion = std::move(breach.suggestion)});
  if (!problems.empty()) // checks of conflicts may divide by values that a rule rejects
    return problems;
  return without_place(find_conflicts(config, capabilities, catalogue));
}

} // namespace troupe
