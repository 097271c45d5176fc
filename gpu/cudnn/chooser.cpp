#include "chooser.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace troupe::gpu::cudnn {

namespace {

Status check(cudaError_t error, const char* doing) {
  if (error == cudaSuccess)
    return {};
  return fail(Errc::device, "CUDA, {}: {}", doing, cudaGetErrorString(error));
}

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using EventHandle = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

Result<EventHandle> make_event() {
  cudaEvent_t event = nullptr;
  TROUPE_TRY(check(cudaEventCreate(&event), "making an event"));
  return EventHandle(event);
}

/// How long `runs` runs take on the device, each.
class Stretch {
public:
  Stretch(const Target& target, const Plan& plan, const Descriptor& pack, cudaStream_t stream)
      : target_{target}, plan_{plan}, pack_{pack}, stream_{stream} {}

  Result<double> microseconds(int runs) const {
    const auto begin = make_event();
    const auto end = make_event();
    if (!begin || !end)
      return failure(begin ? end.error() : begin.error());
    TROUPE_TRY(check(cudaEventRecord(begin->get(), stream_), "recording an event"));
    for (int i = 0; i < runs; ++i)
      TROUPE_TRY(plan_.execute(target_, pack_));
    TROUPE_TRY(check(cudaEventRecord(end->get(), stream_), "recording an event"));
    TROUPE_TRY(check(cudaEventSynchronize(end->get()), "running a candidate"));
    float milliseconds = 0;
    TROUPE_TRY(check(cudaEventElapsedTime(&milliseconds, begin->get(), end->get()), "timing"));
    return 1e3 * static_cast<double>(milliseconds) / runs;
  }

private:
  const Target& target_;
  const Plan& plan_;
  const Descriptor& pack_;
  cudaStream_t stream_;
};

/// The first run loads kernels; the second says how many fill a stretch.
Result<double> median_of_stretches(const Stretch& stretch) {
  constexpr double microseconds = 2000;
  TROUPE_TRY(stretch.microseconds(1));
  const auto one = stretch.microseconds(1);
  if (!one)
    return one;
  const int runs = static_cast<int>(std::clamp(microseconds / std::max(*one, 1.0), 1.0, 10.0));
  std::array<double, 3> times = {};
  for (auto& time : times) {
    const auto measured = stretch.microseconds(runs);
    if (!measured)
      return measured;
    time = *measured;
  }
  std::ranges::sort(times);
  return times[1];
}

/// The first plan, without measurements; else the fastest of those that ran. Errors: device.
Result<ChosenPlan> best_of(std::vector<Plan> plans, const MeasurePlans& measure) {
  if (!measure)
    return ChosenPlan{.plan = std::move(plans.front())};
  TROUPE_TRY(const auto times, measure(plans));
  std::optional<std::size_t> best;
  std::string refused;
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (!times[i])
      refused = times[i].error().message;
    else if (!best || *times[i] < *times[*best])
      best = i;
  if (!best)
    return fail(Errc::device, "no candidate ran; last: {}", refused);
  return ChosenPlan{.plan = std::move(plans[*best]), .microseconds = *times[*best]};
}

} // namespace

Result<double> measure_microseconds(const Target& target, const Plan& plan, cudaStream_t stream,
                                    const MeasuringBuffers& buffers) {
  if (plan.workspace_bytes() > buffers.workspace_bytes)
    return fail(Errc::out_of_memory, "{} needs {} bytes of workspace, {} are there", plan.tag(),
                plan.workspace_bytes(), buffers.workspace_bytes);
  TROUPE_TRY(target.use_stream(stream));
  TROUPE_TRY(const auto pack, variant_pack(target.library(), buffers.bindings, buffers.workspace));
  return median_of_stretches({target, plan, pack, stream});
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
      (void)cache->store_refusal(target, graph, policy, plans.error()); // found again next time
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
