#include "gpu/cudnn/plan_cache.hpp"

#include "core/fail.hpp"
#include "gpu/detail/cache_entry.hpp"

#include <utility>

namespace troupe::gpu::cudnn {

namespace {

std::string key_of(const Target& target, const OperationGraph& graph, const PlanPolicy& policy) {
  return fmt::format("{} | deterministic {}, tf32 {}, workspace {} | {}", target.key(),
                     policy.deterministic, policy.tf32, policy.workspace_bytes,
                     graph.canonical_text());
}

} // namespace

PlanCache::PlanCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::filesystem::path PlanCache::path_of(const Target& target, const OperationGraph& graph,
                                         const PlanPolicy& policy) const {
  return entry_path(folder_, key_of(target, graph, policy));
}

std::optional<ChosenPlan> PlanCache::find(const Target& target, const OperationGraph& graph,
                                          const PlanPolicy& policy) const {
  const auto entry = read_entry(folder_, key_of(target, graph, policy));
  if (!entry.is_object())
    return std::nullopt;
  const auto plan = entry.value("plan", nlohmann::json());
  const auto tag = entry.value("tag", nlohmann::json());
  const auto compiled = entry.value("compiled", nlohmann::json());
  const auto time = entry.value("microseconds", nlohmann::json());
  // cuDNN does not promise to survive damaged text.
  if (!plan.is_string() || !tag.is_string() || !compiled.is_boolean() || !time.is_number() ||
      entry.value("sha256", nlohmann::json()) != digest(plan.get<std::string>()))
    return std::nullopt;
  auto loaded = Plan::from_json(target, plan.get<std::string>(), tag.get<std::string>(),
                                compiled.get<bool>());
  if (!loaded)
    return std::nullopt;
  return ChosenPlan{
      .plan = std::move(*loaded), .microseconds = time.get<double>(), .from_cache = true};
}

Status PlanCache::store(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
                        const ChosenPlan& chosen) const {
  TROUPE_TRY(const auto plan, chosen.plan.json(target));
  return write_entry(folder_, key_of(target, graph, policy),
                     {{"name", graph.name},
                      {"tag", chosen.plan.tag()},
                      {"compiled", chosen.plan.compiled()},
                      {"microseconds", chosen.microseconds},
                      {"sha256", digest(plan)},
                      {"plan", plan}});
}

std::optional<Error> PlanCache::find_refusal(const Target& target, const OperationGraph& graph,
                                             const PlanPolicy& policy) const {
  const auto entry = read_entry(folder_, key_of(target, graph, policy));
  if (!entry.is_object())
    return std::nullopt;
  const auto why = entry.value("refused", nlohmann::json());
  if (!why.is_string() || entry.value("nvrtc", nlohmann::json()) != target.library().nvrtc.version)
    return std::nullopt;
  return Error{Errc::unsupported, why.get<std::string>()};
}

Status PlanCache::store_refusal(const Target& target, const OperationGraph& graph,
                                const PlanPolicy& policy, const Error& refusal) const {
  return write_entry(folder_, key_of(target, graph, policy),
                     {{"name", graph.name},
                      {"nvrtc", target.library().nvrtc.version},
                      {"refused", refusal.message}});
}

} // namespace troupe::gpu::cudnn
