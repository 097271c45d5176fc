// A pass that is there to load the kernels of a graph (gpu/detail/load_kernels.hpp).
#include "executable.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::gpu {

namespace {

/// Places in one piece of memory, one behind the other.
class Places {
public:
  std::size_t take(std::size_t bytes) { return bytes_ += aligned(bytes), bytes_ - aligned(bytes); }
  std::size_t bytes() const { return bytes_; }

private:
  std::size_t bytes_ = 0;
};

std::size_t bytes_of(const Graph& graph, Role role) {
  std::size_t bytes = 0;
  for (const auto id : graph.with_role(role))
    bytes += static_cast<std::size_t>(graph[id].shape.elements()) * size_of(graph[id].dtype);
  return bytes;
}

} // namespace

/// On zeros: which numbers come out does not matter. All units share one place for parameters, and
/// one for gradients.
Status CudaExecutable::load_kernels() {
  std::size_t largest = 0;
  for (const auto& unit : units_)
    largest = std::max(largest, unit.elements);
  Places places;
  const auto loss_scale = places.take(sizeof(float));
  const auto labels = places.take(bytes_of(graph_, Role::target));
  const auto images = places.take(bytes_of(graph_, Role::input));
  const auto statistics = places.take(layout_.statistic_elements * sizeof(float));
  const auto parameters = places.take(largest * sizeof(float));
  const auto gradients = places.take(largest * sizeof(float));
  TROUPE_TRY(const auto memory, device_.allocate(places.bytes(), MemoryKind::workspace));
  const auto at = [&](std::size_t offset) {
    return reinterpret_cast<float*>(memory->data() + offset);
  };
  const auto stream = device_.create_stream({.name = "load"});
  const Binding binding{at(parameters),
                        at(gradients),
                        at(statistics),
                        at(loss_scale),
                        {at(images), reinterpret_cast<const std::int32_t*>(at(labels))}};
  for (const auto& unit : units_)
    enqueue(cuda_stream(*stream), binding, unit.forward);
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit)
    enqueue(cuda_stream(*stream), binding, unit->backward);
  device_.zero(*stream, own_->data(), own_->bytes());
  return stream->synchronize();
}

} // namespace troupe::gpu
