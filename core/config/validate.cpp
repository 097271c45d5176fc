#include "core/config/validate.hpp"

#include "core/config/catalogue.hpp"
#include "core/config/detail/check.hpp"
#include "core/cores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe {

namespace {

void check_precision(ConfigCheck& check) {
  const auto& devices = check.config.devices;
  const bool on_host = devices.kind == DeviceKind::cpu || !check.capabilities.cuda_build ||
                       check.capabilities.cuda_devices == 0;
  if (on_host && devices.kind != DeviceKind::cuda && check.config.precision.mode == Precision::tf32)
    check.refuse({"precision.mode", "devices.kind"}, "tf32 requires a CUDA device",
                 "fp32, fp16, bf16, amp_fp16, amp_bf16");
}

void check_devices(ConfigCheck& check) {
  const auto& devices = check.config.devices;
  if (devices.kind != DeviceKind::cuda)
    return;
  if (!check.capabilities.cuda_build)
    check.refuse({"devices.kind"}, "this build has no CUDA backend", "auto, cpu");
  else if (check.capabilities.cuda_devices == 0)
    check.refuse({"devices.kind"}, "no CUDA device on this machine", "auto, cpu");
  else if (devices.engine == Engine::interpreter)
    check.refuse({"devices.engine", "devices.kind"}, "the interpreter runs only on the CPU",
                 "fastest");
}

} // namespace

ConfigConflicts find_conflicts(const Config& config, const Capabilities& capabilities,
                               const Catalogue& catalogue) {
  ConfigCheck check{config, capabilities};
  for (const auto check_section :
       {check_data, check_train, check_precision, check_devices, check_parallel, check_cluster})
    check_section(check);
  if (catalogue.conflicts)
    std::ranges::move(catalogue.conflicts(config), std::back_inserter(check.found));
  return std::move(check.found);
}

ConfigProblem to_problem(ConfigConflict conflict) {
  return {.key = conflict.keys.front(),
          .what = std::move(conflict.what),
          .allowed = std::move(conflict.allowed),
          .suggestion = std::move(conflict.suggestion)};
}

Status to_status(ConfigConflicts conflicts) {
  std::vector<ConfigProblem> problems;
  std::ranges::transform(conflicts, std::back_inserter(problems), to_problem);
  return problems.empty() ? Status{} : failure(to_error(problems));
}

Capabilities host_capabilities() {
  Capabilities found;
  found.host_cores = usable_cores().count();
  return found;
}

std::vector<std::string> config_notes(const Config& config, const Catalogue& catalogue) {
  auto notes = config.notes;
  if (catalogue.notes)
    std::ranges::move(catalogue.notes(config), std::back_inserter(notes));
  return notes;
}

std::string thread_warning(const DevicesConfig& devices, std::int64_t cores) {
  const auto threads = devices.count * devices.threads_per_worker;
  if (devices.threads_per_worker <= 1 || threads <= cores)
    return {};
  return fmt::format("devices.threads_per_worker: {} threads share {} core{}: threads that wait "
                     "for each other occupy the cores that others need to compute, which can make "
                     "a step hundreds of times slower (on 2 cores, 64 threads took 24.9 s for a "
                     "step that takes 2 threads 0.05 s); set it to 0 or at most {}",
                     threads, cores, cores == 1 ? "" : "s",
                     std::max<std::int64_t>(1, cores / devices.count));
}

} // namespace troupe
