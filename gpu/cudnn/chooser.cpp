#include "gpu/cudnn/chooser.hpp"

#include "core/fail.hpp"
#include "gpu/detail/measure.hpp"

namespace troupe::gpu::cudnn {

namespace {

/// Returns the first plan without measurements, else the fastest of those that ran. Errors: device.
Result<ChosenPlan> best_of(std::vector<Plan> plans, const MeasurePlans& measure) {
  if (!measure)
    return ChosenPlan{.plan = std::move(plans.front())};
  TROUPE_TRY(const auto times, measure(plans));
  TROUPE_TRY(const auto best, fastest(times));
  return ChosenPlan{.plan = std::move(plans[best]), .microseconds = *times[best]};
}

} // namespace

Result<double> measure_microseconds(const Target& target, const Plan& plan, cudaStream_t stream,
                                    const MeasuringBuffers& buffers) {
  if (plan.workspace_bytes() > buffers.workspace_bytes)
    return fail(Errc::out_of_memory, "{} needs {} bytes of workspace, but {} are available",
                plan.tag(), plan.workspace_bytes(), buffers.workspace_bytes);
  TROUPE_TRY(target.use_stream(stream));
  TROUPE_TRY(const auto pack, plan.pack(target, buffers.bindings, buffers.workspace));
  return least_microseconds(stream, [&] { return plan.execute(target, pack); });
}

Result<ChosenPlan> choose_plan(const Target& target, const OperationGraph& graph,
                               const PlanPolicy& policy, const PlanCache* cache,
                               const MeasurePlans& measure) {
  const auto& measured = policy.deterministic ? MeasurePlans{} : measure;
  if (cache != nullptr) {
    if (auto known = cache->find(target, graph, policy);
        known && (!measured || known->microseconds >= 0))
      return std::move(*known);
    if (auto refusal = cache->find_refusal(target, graph, policy))
      return failure(std::move(*refusal));
  }
  auto searched = policy;
  if (!measured)
    searched.candidates = 1;
  SearchCounts counts;
  auto plans = find_plans(target, graph, searched, &counts);
  if (!plans) {
    if (cache != nullptr)
      (void)cache->store_refusal(target, graph, policy,
                                 plans.error()); // ignored: the next start would search again
    return failure(std::move(plans).error());
  }
  auto best = best_of(std::move(*plans), measured);
  if (!best)
    return fail(best.error().code, "{}: {}", graph.name, best.error().message);
  best->counts = counts;
  if (cache != nullptr)
    if (auto stored = cache->store(target, graph, policy, *best); !stored)
      best->not_stored = stored.error().message;
  return best;
}

} // namespace troupe::gpu::cudnn
