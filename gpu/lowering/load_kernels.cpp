// Runs a pass to load the kernels of a graph (gpu/detail/load_kernels.hpp).
#include "core/fail.hpp"
#include "gpu/lowering/executable.hpp"

#include <algorithm>

namespace troupe::gpu {

namespace {

/// Consecutive offsets in one block of memory.
class Places {
public:
  std::size_t take(std::size_t bytes) { return bytes_ += aligned(bytes), bytes_ - aligned(bytes); }
  std::size_t bytes() const { return bytes_; }

private:
  std::size_t bytes_ = 0;
};

/// Takes an offset for each tensor of a batch.
std::vector<std::size_t> take_all(Places& places, const BatchView& batch) {
  std::vector<std::size_t> taken;
  for (const auto& tensor : batch)
    taken.push_back(places.take(tensor.bytes()));
  return taken;
}

} // namespace

/// Runs on zeros, because the results do not matter. All units share one block for parameters and
/// one for gradients.
Status CudaExecutable::load_kernels() {
  std::size_t largest = 0;
  for (const auto& unit : units_)
    largest = std::max(largest, unit.elements);
  Places places;
  const auto loss_scale = places.take(sizeof(float));
  const auto batch = take_all(places, ports_.batch());
  const auto statistics = places.take(layout_.statistic_elements * sizeof(float));
  const auto parameters = places.take(largest * sizeof(float));
  const auto gradients = places.take(largest * sizeof(float));
  TROUPE_TRY(const auto memory, device_.allocate(places.bytes(), MemoryKind::workspace));
  const auto at = [&](std::size_t offset) {
    return reinterpret_cast<float*>(memory->data() + offset);
  };
  const auto stream = device_.create_stream({.name = "load"});
  Binding binding{at(parameters), at(gradients), at(statistics), at(loss_scale), {}};
  for (std::size_t i = 0; i < batch.size(); ++i)
    binding.batch[i] = at(batch[i]);
  for (const auto& unit : units_)
    enqueue(cuda_stream(*stream), binding, unit.forward);
  for (auto unit = units_.rbegin(); unit != units_.rend(); ++unit)
    enqueue(cuda_stream(*stream), binding, unit->backward);
  device_.zero(*stream, own_->data(), own_->bytes());
  return stream->synchronize();
}

} // namespace troupe::gpu
