// From checkpoints, in canonical layout, to a state in the device's.
#include "model_state.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <string_view>

namespace troupe::engine {

namespace {

void encode(const Slot& slot, std::span<const float> canonical, std::span<float> stored) {
  if (slot.codec)
    slot.codec->encode(canonical, stored);
  else
    std::ranges::copy(canonical, stored.begin());
}

/// Weights that were trained beside a bias are worth nothing without it.
Status check_no_bias_is_lost(const Checkpoint& checkpoint, const StorageLayout& layout) {
  constexpr std::string_view weight = ".weight", bias = ".bias";
  for (const auto& slot : layout.parameters) {
    if (!slot.name.ends_with(weight))
      continue;
    const auto beside = slot.name.substr(0, slot.name.size() - weight.size()).append(bias);
    if (checkpoint.find(beside) && std::ranges::count(layout.parameters, beside, &Slot::name) == 0)
      return fail(Errc::invalid_input,
                  "the checkpoint has a tensor {}, and the model has none: it is of another model",
                  beside);
  }
  return {};
}

} // namespace

Status ModelState::load(Stream& stream, const Checkpoint& checkpoint) {
  TROUPE_TRY(check_no_bias_is_lost(checkpoint, layout_));
  TROUPE_TRY(load_parameters(stream, checkpoint));
  TROUPE_TRY(load_statistics(stream, checkpoint));
  for (std::size_t i = 0; i < optimizer_.size(); ++i) {
    TROUPE_TRY(const auto values,
               part_of(checkpoint, optimizer_slots_[i], strategy_.divides_optimizer));
    TROUPE_TRY(store(stream, values, optimizer_[i], host_ ? host_->state(i) : nullptr));
  }
  TROUPE_TRY(load_loss_scale(stream, checkpoint));
  device_.zero(stream, gradients_->data(), gradients_->bytes());
  return stream.synchronize();
}

Status ModelState::load_parameters(Stream& stream, const Checkpoint& checkpoint) {
  TROUPE_TRY(const auto values, part_of(checkpoint, "", strategy_.divides_parameters));
  if (!host_ || strategy_.offloads_parameters)
    return store(stream, values, parameters_, host_ ? host_->parameters() : nullptr);
  TROUPE_TRY(store(stream, values, parameters_, nullptr));
  // The host updates a copy of its own.
  TROUPE_TRY(const auto copied, part_of(checkpoint, "", strategy_.divides_optimizer));
  put(stream, std::span{copied}.subspan(kept_), host_->parameters());
  return stream.synchronize();
}

/// Blocks. What is not offloaded goes to the device, the rest (unless null) to the host's memory.
Status ModelState::store(Stream& stream, std::span<const float> values, const BufferPtr& kept,
                         float* offloaded) const {
  const auto front = offloaded ? kept_ : values.size();
  if (front > 0)
    put(stream, values.first(front), kept->floats());
  put(stream, values.subspan(front), offloaded);
  return stream.synchronize();
}

void ModelState::put(Stream& stream, std::span<const float> values, float* destination) const {
  if (values.empty())
    return;
  device_.copy(stream, destination, values.data(), values.size_bytes());
  device_.round(stream, destination, stored_, values.size());
}

Status ModelState::load_loss_scale(Stream& stream, const Checkpoint& checkpoint) {
  if (!scaler_)
    return {};
  // A checkpoint of another precision has none: scaling begins here.
  LossScaleState state{.scale = loss_scale_options_->initial, .taken = checkpoint.step};
  if (const auto saved = checkpoint.metadata.find(loss_scale_key);
      saved != checkpoint.metadata.end()) {
    const auto parsed = parse_loss_scale(saved->second);
    if (!parsed)
      return fail(Errc::corrupt, "the checkpoint of step {} has the loss scale \"{}\"",
                  checkpoint.step, saved->second);
    state = *parsed;
  }
  device_.copy(stream, loss_scale(), &state, sizeof state);
  return stream.synchronize();
}

namespace {

/// Null for a state of the optimizer that does not exist yet, because the run begins.
Result<const CheckpointTensor*> tensor_of(const Checkpoint& checkpoint, const Slot& slot,
                                          std::string_view state) {
  const auto name = state.empty() ? slot.name : optimizer_tensor_name(state, slot.name);
  const auto* tensor = checkpoint.find(name);
  if (!tensor && !state.empty() && checkpoint.step == 0)
    return nullptr;
  if (!tensor)
    return fail(Errc::invalid_input,
                "the checkpoint has no tensor {}: it is of another model or optimizer", name);
  if (tensor->shape != slot.shape)
    return fail(Errc::invalid_input, "tensor {} of the checkpoint is {}, the model's is {}", name,
                tensor->shape.to_string(), slot.shape.to_string());
  return tensor;
}

} // namespace

/// A state of the optimizer, or the parameters: all of it, or this rank's shards.
Result<std::vector<float>> ModelState::part_of(const Checkpoint& checkpoint, std::string_view state,
                                               bool divided) const {
  std::vector<float> flat(plan_.elements, 0.0f); // padding stays zero
  for (const auto& slot : layout_.parameters) {
    TROUPE_TRY(const auto tensor, tensor_of(checkpoint, slot, state));
    if (tensor)
      encode(slot, tensor->values, std::span{flat}.subspan(place_of(slot), slot.elements));
  }
  if (!divided)
    return flat;
  // Shards move to the front, to where they lie in a rank's part.
  for (std::size_t i = plan_.buckets.size(); i-- > 0;) {
    const auto& bucket = plan_.buckets[i];
    const auto elements = plan_.shard_elements(bucket);
    const auto shard =
        flat.begin() + static_cast<std::ptrdiff_t>(bucket.offset + shard_ * elements);
    std::copy_n(shard, elements,
                flat.begin() + static_cast<std::ptrdiff_t>(plan_.shard_offset(bucket)));
  }
  flat.resize(plan_.shard_elements());
  return flat;
}

Status ModelState::load_statistics(Stream& stream, const Checkpoint& checkpoint) {
  std::vector<float> flat(layout_.statistic_elements, 0.0f);
  for (const auto& slot : layout_.statistics) {
    TROUPE_TRY(const auto tensor, tensor_of(checkpoint, slot, ""));
    encode(slot, tensor->values, std::span{flat}.subspan(slot.offset, slot.elements));
  }
  device_.copy(stream, statistics(), flat.data(), flat.size() * sizeof(float));
  device_.round(stream, statistics(), stored_, flat.size());
  return stream.synchronize();
}

} // namespace troupe::engine
