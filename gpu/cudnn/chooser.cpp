#include "chooser.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace troupe::gpu::cudnn {

namespace {

constexpr int warm_up_runs = 2;

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

} // namespace

Result<double> measure_microseconds(const Target& target, const Plan& plan, cudaStream_t stream,
                                    const MeasuringBuffers& buffers, int runs) {
  if (plan.workspace_bytes() > buffers.workspace_bytes)
    return fail(Errc::out_of_memory, "{} needs {} bytes of workspace, {} are there", plan.tag(),
                plan.workspace_bytes(), buffers.workspace_bytes);
  TROUPE_TRY(target.use_stream(stream));
  const auto run = [&] { return plan.execute(target, buffers.bindings, buffers.workspace); };
  for (int i = 0; i < warm_up_runs; ++i)
    TROUPE_TRY(run());
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = make_event();
    const auto end = make_event();
    if (!begin || !end)
      return failure(begin ? end.error() : begin.error());
    TROUPE_TRY(check(cudaEventRecord(begin->get(), stream), "recording an event"));
    TROUPE_TRY(run());
    TROUPE_TRY(check(cudaEventRecord(end->get(), stream), "recording an event"));
    TROUPE_TRY(check(cudaEventSynchronize(end->get()), "running a candidate"));
    float milliseconds = 0;
    TROUPE_TRY(check(cudaEventElapsedTime(&milliseconds, begin->get(), end->get()), "timing"));
    times.push_back(milliseconds * 1000.0);
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Result<ChosenPlan> choose_plan(const Target& target, const OperationGraph& graph,
                               const PlanPolicy& policy, const PlanCache* cache,
                               cudaStream_t stream, const MeasuringBuffers* buffers) {
  if (cache != nullptr)
    if (auto known = cache->find(target, graph, policy);
        known && (buffers == nullptr || known->microseconds >= 0))
      return std::move(*known);
  auto searched = policy;
  if (buffers == nullptr)
    searched.candidates = 1;
  auto plans = find_plans(target, graph, searched);
  if (!plans)
    return failure(std::move(plans).error());
  std::optional<ChosenPlan> best;
  std::string refused;
  for (auto& plan : *plans) {
    if (buffers == nullptr) {
      best = ChosenPlan{std::move(plan)};
      break;
    }
    const auto time = measure_microseconds(target, plan, stream, *buffers);
    if (!time)
      refused = time.error().message;
    else if (!best || *time < best->microseconds)
      best = ChosenPlan{std::move(plan), *time};
  }
  if (!best)
    return fail(Errc::unsupported, "{}: no candidate ran; last: {}", graph.name, refused);
  if (cache != nullptr)
    (void)cache->store(target, graph, policy, *best); // the next start searches again
  return std::move(*best);
}

} // namespace troupe::gpu::cudnn
