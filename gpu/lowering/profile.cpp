// Times the steps of a pass.
#include "core/fail.hpp"
#include "gpu/lowering/executable.hpp"

namespace troupe::gpu {

namespace {

/// Events of one measurement. They are driver events, because events of streams are recycled while
/// these are still needed.
class Marks {
public:
  explicit Marks(std::size_t count) : events_(count) {
    for (auto& event : events_)
      cudaEventCreate(&event);
  }
  ~Marks() {
    for (const auto event : events_)
      cudaEventDestroy(event);
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void record(std::size_t i, cudaStream_t stream) { cudaEventRecord(events_[i], stream); }
  double microseconds(std::size_t from, std::size_t to) const {
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, events_[from], events_[to]);
    return 1e3 * static_cast<double>(milliseconds);
  }

private:
  std::vector<cudaEvent_t> events_;
};

} // namespace

Result<std::vector<StepTime>> CudaExecutable::time_steps(Stream& stream) {
  auto& on = cuda_stream(stream);
  std::vector<std::pair<UnitId, const StepPtr*>> order;
  const auto units = static_cast<UnitId>(units_.size());
  for (UnitId unit = 0; unit < units; ++unit)
    for (const auto& step : units_[static_cast<std::size_t>(unit)].forward)
      order.emplace_back(unit, &step);
  for (UnitId unit = units - 1; unit >= 0; --unit)
    for (const auto& step : units_[static_cast<std::size_t>(unit)].backward)
      order.emplace_back(unit, &step);

  Marks marks{order.size() + 1};
  const auto mark = [&](std::size_t i) {
    on.enqueue("mark", [&](cudaStream_t raw) { marks.record(i, raw); });
  };
  mark(0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    enqueue(on, binding(order[i].first), {order[i].second, 1});
    mark(i + 1);
  }
  TROUPE_TRY(on.synchronize());
  std::vector<StepTime> times;
  for (std::size_t i = 0; i < order.size(); ++i)
    times.push_back({(*order[i].second)->name, (*order[i].second)->node_index,
                     (*order[i].second)->traffic, marks.microseconds(i, i + 1)});
  return times;
}

} // namespace troupe::gpu
