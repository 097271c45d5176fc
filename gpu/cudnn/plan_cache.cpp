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

std::optional<ChosenPlan> PlanCache::find(const Target& target, const OperationGraph& graph,
                                          const PlanPolicy& policy) const {
  const auto entry = read_entry(folder_, key_of(target, graph, policy));
  const auto plan = value_of(entry, "plan");
  const auto tag = value_of(entry, "tag");
  const auto compiled = value_of(entry, "compiled");
  const auto time = value_of(entry, "microseconds");
  // cuDNN does not promise to survive damaged text.
  if (!plan.is_string() || !tag.is_string() || !compiled.is_boolean() || !time.is_number() ||
      value_of(entry, "sha256") != digest(plan.get<std::string>()))
    return std::nullopt;
  auto loaded = Plan::from_json(target, graph, plan.get<std::string>(), tag.get<std::string>(),
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
  const auto why = value_of(entry, "refused");
  if (!why.is_string() || value_of(entry, "nvrtc") != target.library().nvrtc.version)
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
