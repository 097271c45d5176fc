#include "training/state/optimizer_part.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::training {

std::span<float> floats_of(const BufferPtr& buffer) {
  return buffer ? std::span{buffer->floats(), buffer->bytes() / sizeof(float)} : std::span<float>{};
}

Status allocate_floats(Device& device, BufferPtr& buffer, std::size_t elements, MemoryKind kind) {
  TROUPE_TRY(buffer, device.allocate(std::max<std::size_t>(elements, 1) * sizeof(float), kind));
  return {};
}

Status OptimizerPart::allocate(Device& device, const Array& parameters, const Array& gradients) {
  parameters_ = parameters;
  gradients_ = gradients;
  if (!layout_->has_optimizer())
    return {};
  const auto kept = layout_->kept();
  slots_.resize(layout_->slots().size());
  for (auto& slot : slots_)
    if (kept > 0)
      TROUPE_TRY(allocate_floats(device, slot, kept, MemoryKind::optimizer));
  if (!layout_->strategy().offloads())
    return {};
  TROUPE_TRY(host_,
             HostShard::allocate(device, {kept, layout_->part_elements() - kept}, slots_.size()));
  return {};
}

Status OptimizerPart::allocate_replica(Device& device) {
  if (layout_->kept() > 0)
    TROUPE_TRY(allocate_floats(device, own_parameters_, layout_->kept(), MemoryKind::parameters));
  TROUPE_TRY(
      allocate_floats(device, own_gradients_, layout_->part_elements(), MemoryKind::gradients));
  return allocate(device, {floats_of(own_parameters_)}, {floats_of(own_gradients_)});
}

float* OptimizerPart::at(const Array& array, const Bucket& bucket) const {
  const auto place = array.is_flat ? range(bucket).first : layout_->offset(bucket);
  return place < array.values.size() ? array.values.data() + place : nullptr;
}

float* OptimizerPart::in_slot(std::size_t number, const Bucket& bucket) const {
  return number < slots() ? at({slot(number)}, bucket) : nullptr;
}

std::span<float> OptimizerPart::slot(std::size_t number) const {
  return floats_of(slots_[number]);
}

std::vector<std::span<float>> OptimizerPart::inner_slots() const {
  std::vector<std::span<float>> found;
  for (std::size_t number = 0; number < std::min(layout_->inner_slots(), slots()); ++number)
    if (const auto values = slot(number); !values.empty())
      found.push_back(values);
  return found;
}

float* OptimizerPart::outer_momentum(const Bucket& bucket) const {
  return in_slot(layout_->inner_slots(), bucket);
}

BucketMemory OptimizerPart::memory(std::size_t array, std::size_t number) const {
  const auto& bucket = layout_->plan().buckets[number];
  const auto kept = layout_->kept(bucket);
  const bool offloads = kept < range(bucket).elements;
  return {.range = range(bucket),
          .device = array == parameters_array ? parameters(bucket)
                                              : in_slot(array - first_optimizer_array, bucket),
          .kept = kept,
          .host = offloads ? host_->at(array, layout_->offset(bucket) + kept) : nullptr};
}

void OptimizerPart::write(const ParameterCopies& copies) {
  const auto& strategy = layout_->strategy();
  if (!strategy.divides_optimizer && !strategy.root_only && !strategy.offloads() &&
      !strategy.trains_apart())
    copies_ = copies;
}

OptimizerViews OptimizerPart::chunk(const Bucket& bucket) const {
  const auto state = [&](std::size_t number) {
    return number < layout_->inner_slots() ? in_slot(number, bucket) : nullptr;
  };
  return {.parameters = parameters(bucket),
          .gradients = gradients(bucket),
          .state0 = state(0),
          .state1 = state(1),
          .elements = range(bucket).elements,
          .copies = copies_.data ? copies_.data + bucket.offset * size_of(copies_.type) : nullptr,
          .copied = copies_.type};
}

OptimizerViews OptimizerPart::kept_chunk(const Bucket& bucket) const {
  auto views = chunk(bucket);
  views.elements = layout_->kept(bucket);
  return views;
}

HostChunk OptimizerPart::host_chunk(const Bucket& bucket) const {
  const auto kept = layout_->kept(bucket), elements = range(bucket).elements;
  if (kept == elements)
    return {};
  auto chunk = host_->chunk({layout_->offset(bucket) + kept, elements - kept});
  chunk.gradients = gradients(bucket) + kept;
  if (!is_replica() && !layout_->strategy().offloads_parameters)
    chunk.parameters = parameters(bucket) + kept;
  return chunk;
}

std::vector<OptimizerChunk> OptimizerPart::kept_chunks(const Bucket& bucket,
                                                       const float* gradients) const {
  auto views = kept_chunk(bucket);
  views.gradients = gradients;
  return layout_->rates().cut(views, range(bucket).first);
}

std::vector<OptimizerChunk> OptimizerPart::host_chunks(const Bucket& bucket) const {
  return layout_->rates().cut(host_chunk(bucket).host, range(bucket).first + layout_->kept(bucket));
}

std::vector<OptimizerChunk>
OptimizerPart::in_few_views(OptimizerViews (OptimizerPart::*of)(const Bucket&) const) const {
  std::vector<OptimizerChunk> found;
  // Buckets and the chunks of a bucket are in descending order: two chunks touch if this one ends
  // where the previous one begins. Divided parameters have the layout of their gradients.
  const auto touches = [&](const OptimizerChunk& before, const OptimizerChunk& chunk) {
    return chunk.rate == before.rate && chunk.gradients + chunk.elements == before.gradients &&
           (layout_->strategy().divides_parameters ||
            chunk.parameters + chunk.elements == before.parameters);
  };
  for (const auto& bucket : layout_->plan().buckets)
    for (auto chunk : layout_->rates().cut((this->*of)(bucket), range(bucket).first)) {
      if (!found.empty() && touches(found.back(), chunk)) {
        chunk.elements += found.back().elements;
        found.pop_back();
      }
      found.push_back(chunk);
    }
  return found;
}

} // namespace troupe::training
