// Runs a pass to load the kernels of a graph (gpu/detail/load_kernels.hpp).
#include "core/fail.hpp"
#include "gpu/lowering/executable.hpp"

#include <algorithm>
#include <utility>

namespace troupe::gpu {

/// Runs on zeros, because the results do not matter. All units share one block for parameters and
/// one for gradients.
Status CudaExecutable::load_kernels() {
  const auto largest = std::ranges::max(layout_.unit_elements);
  std::size_t bytes = 0;
  const auto place = [&bytes](std::size_t size) {
    return std::exchange(bytes, bytes + aligned(size));
  };
  const auto loss_scale = place(sizeof(float));
  std::vector<std::size_t> batch;
  for (const auto& tensor : ports_.batch())
    batch.push_back(place(tensor.bytes()));
  const auto statistics = place(layout_.statistic_elements * sizeof(float));
  const auto parameters = place(largest * sizeof(float));
  const auto gradients = place(largest * sizeof(float));
  TROUPE_TRY(const auto memory, device_.allocate(bytes, MemoryKind::workspace));
  const auto at = [&](std::size_t offset) {
    return reinterpret_cast<float*>(memory->data() + offset);
  };
  const auto stream = device_.create_stream({.name = "load"});
  Binding binding{at(parameters), at(gradients), at(statistics), at(loss_scale), {}};
  for (std::size_t i = 0; i < batch.size(); ++i)
    binding.batch[i] = at(batch[i]);
  for (const auto& unit : units_)
    enqueue(cuda_stream(*stream), binding, unit.forward);
  for (auto unit = units_.size(); unit-- > 0;) {
    enqueue_backward(cuda_stream(*stream), binding, unit, GradientMode::overwrite);
    if (adds_gradients())
      enqueue_backward(cuda_stream(*stream), binding, unit, GradientMode::add);
  }
  device_.zero(*stream, own_->data(), own_->bytes());
  return stream->synchronize();
}

} // namespace troupe::gpu
