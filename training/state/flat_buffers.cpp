#include "training/state/flat_buffers.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::training {

Status FlatBuffers::allocate(const StateOptions& options) {
  const auto& strategy = layout_.strategy();
  const auto parameters =
      strategy.offloads_parameters ? layout_.kept() : layout_.elements(strategy.divides_parameters);
  if (parameters > 0)
    TROUPE_TRY(allocate_floats(device_, parameters_, parameters, MemoryKind::parameters));
  TROUPE_TRY(allocate_floats(device_, gradients_, layout_.elements(strategy.divides_gradients),
                             MemoryKind::gradients));
  if (options.accumulate)
    TROUPE_TRY(allocate_floats(device_, accumulated_, layout_.elements(strategy.sums_shards()),
                               MemoryKind::gradients));
  TROUPE_TRY(allocate_windows());
  if (options.snapshots)
    TROUPE_TRY(allocate_floats(
        device_, snapshot_,
        snapshot_elements(layout_.plan(), strategy, layout_.rank(), layout_.saves_shard(),
                          layout_.storage().statistic_elements, layout_.slots().size()),
        MemoryKind::pinned));
  place_units();
  return part_.allocate(device_, {owned_parameters(), !strategy.divides_parameters},
                        {owned_gradients(), !strategy.divides_gradients});
}

Status FlatBuffers::allocate_windows() {
  const auto& strategy = layout_.strategy();
  const auto& buckets = layout_.plan().buckets;
  const auto take = [&](BufferPtr& buffer, std::size_t alive) {
    return allocate_floats(device_, buffer, plan_window(buckets, alive).elements,
                           MemoryKind::communication);
  };
  if (strategy.divides_parameters)
    TROUPE_TRY(take(gathered_, strategy.parameters_alive(buckets.size())));
  if (strategy.divides_gradients)
    TROUPE_TRY(take(fresh_, strategy.gradients_alive(buckets.size())));
  if (strategy.gathered == DType::f32 && strategy.reduced == DType::f32)
    return {};
  const auto largest = std::ranges::max(buckets, {}, &Bucket::elements).elements;
  return allocate_floats(device_, wire_, (largest + 1) / 2, // two bytes each
                         MemoryKind::communication);
}

void FlatBuffers::place_units() {
  const auto& strategy = layout_.strategy();
  const auto buckets = layout_.plan().buckets.size();
  parameters_of_ = places(strategy.divides_parameters ? nullptr : parameters_->floats(), gathered_,
                          strategy.parameters_alive(buckets));
  gradients_of_ = places(gradients_->floats(), fresh_, strategy.gradients_alive(buckets));
}

std::vector<float*> FlatBuffers::places(float* whole, const BufferPtr& window,
                                        std::size_t alive) const {
  const auto& plan = layout_.plan();
  const auto windows = plan_window(plan.buckets, alive);
  std::vector<float*> places;
  for (std::size_t unit = 0; unit < plan.unit_offsets.size(); ++unit) {
    const auto bucket = plan.bucket_of[unit];
    const auto inside = plan.unit_offsets[unit] - plan.buckets[bucket].offset;
    places.push_back(window ? window->floats() + windows.offsets[bucket] + inside
                            : whole + plan.unit_offsets[unit]);
  }
  return places;
}

float* FlatBuffers::accumulated(UnitId unit) const {
  if (!accumulated_ || layout_.strategy().sums_shards())
    return nullptr;
  return accumulated_->floats() + layout_.plan().unit_offsets[static_cast<std::size_t>(unit)];
}

float* FlatBuffers::accumulated(const Bucket& bucket) const {
  return accumulated_ && layout_.strategy().sums_shards()
             ? accumulated_->floats() + layout_.plan().shard_offset(bucket)
             : nullptr;
}

BucketMemory FlatBuffers::array(std::size_t array, std::size_t number) const {
  const auto& strategy = layout_.strategy();
  const auto& bucket = layout_.plan().buckets[number];
  if (array != parameters_array || strategy.offloads_parameters)
    return part_.memory(array, number);
  const auto range = strategy.divides_parameters ? layout_.part(bucket)
                                                 : FlatRange{bucket.offset, bucket.elements};
  float* const address =
      strategy.divides_parameters ? part_.parameters(bucket) : parameters(bucket);
  return {.range = range, .device = address, .kept = range.elements};
}

} // namespace troupe::training
