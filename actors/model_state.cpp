#include "model_state.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace troupe::actors {

namespace {

/// Of a checkpoint's metadata.
constexpr const char* loss_scale_key = "loss_scale";

/// Statistics lie in one buffer of their own; parameters behind their unit's offset.
std::size_t elements_of(const Slot& slot) {
  return static_cast<std::size_t>(slot.shape.elements());
}

void encode(const Slot& slot, std::span<const float> canonical, std::span<float> stored) {
  if (slot.codec)
    slot.codec->encode(canonical, stored);
  else
    std::ranges::copy(canonical, stored.begin());
}

void decode_slot(const Slot& slot, std::span<const float> stored, std::span<float> canonical) {
  if (slot.codec)
    slot.codec->decode(stored, canonical);
  else
    std::ranges::copy(stored, canonical.begin());
}

} // namespace

std::vector<std::string_view> optimizer_slot_names(const OptimizerArguments& optimizer) {
  if (optimizer.kind != OptimizerKind::sgd)
    return {"exp_avg", "exp_avg_sq"};
  if (optimizer.state_slots() == 0)
    return {};
  return {"momentum"};
}

ModelState::ModelState(Device& device, const StorageLayout& layout, const Options& options)
    : device_{device}, layout_{layout}, strategy_{options.strategy},
      shard_{static_cast<std::size_t>(strategy_.shard_of(options.rank))},
      plan_{collectives::plan_flat(
          options.buckets.empty() ? collectives::wrap_by_size(layout.unit_elements, SIZE_MAX)
                                  : options.buckets,
          layout.unit_elements, static_cast<std::size_t>(strategy_.shards))},
      optimizer_slots_{options.optimizer_slots.begin(), options.optimizer_slots.end()},
      loss_scale_options_{options.loss_scale}, stored_{options.stored} {}

Result<std::shared_ptr<ModelState>> ModelState::create(Device& device, const StorageLayout& layout,
                                                       const Options& options) {
  std::shared_ptr<ModelState> state{new ModelState{device, layout, options}};
  TROUPE_TRY(state->allocate(options));
  state->place_units();
  return state;
}

Status ModelState::allocate(const Options& options) {
  const auto take = [this](BufferPtr& buffer, std::size_t elements, MemoryKind kind) -> Status {
    // A model without statistics still gets an address.
    auto allocated = device_.allocate(std::max<std::size_t>(elements, 1) * sizeof(float), kind);
    if (!allocated)
      return failure(allocated.error());
    buffer = *allocated;
    return {};
  };
  const auto part = [this](bool divided) {
    return divided ? plan_.shard_elements() : plan_.elements;
  };
  const auto window = [this](std::size_t alive) {
    return collectives::plan_window(plan_.buckets, alive).elements;
  };
  TROUPE_TRY(take(parameters_, part(strategy_.divides_parameters), MemoryKind::parameters));
  TROUPE_TRY(take(gradients_, part(strategy_.divides_gradients), MemoryKind::gradients));
  if (strategy_.divides_parameters)
    TROUPE_TRY(take(gathered_, window(strategy_.parameters_alive(plan_.buckets.size())),
                    MemoryKind::communication));
  if (strategy_.divides_gradients)
    TROUPE_TRY(take(fresh_, window(strategy_.alive), MemoryKind::communication));
  if (strategy_.gathered != DType::f32 || strategy_.reduced != DType::f32) {
    std::size_t largest = 0;
    for (const auto& bucket : plan_.buckets)
      largest = std::max(largest, bucket.elements);
    TROUPE_TRY(take(wire_, (largest + 1) / 2, MemoryKind::communication)); // two bytes each
  }
  TROUPE_TRY(take(statistics_, layout_.statistic_elements, MemoryKind::parameters));
  TROUPE_TRY(take(scratch_, 4, MemoryKind::workspace));
  if (options.accumulate)
    TROUPE_TRY(take(accumulated_, part(sums_shards()), MemoryKind::gradients));
  if (loss_scale_options_)
    TROUPE_TRY(take(scaler_, sizeof(LossScaleState) / sizeof(float), MemoryKind::optimizer));
  if (strategy_.root_only && options.rank != 0)
    return {};
  optimizer_.resize(optimizer_slots_.size());
  for (auto& buffer : optimizer_)
    TROUPE_TRY(take(buffer, part(strategy_.divides_optimizer), MemoryKind::optimizer));
  return {};
}

void ModelState::place_units() {
  const auto place = [this](float* whole, const BufferPtr& window, std::size_t alive) {
    const auto windows = collectives::plan_window(plan_.buckets, alive);
    std::vector<float*> places;
    for (std::size_t unit = 0; unit < plan_.unit_offsets.size(); ++unit) {
      const auto bucket = plan_.bucket_of[unit];
      const auto inside = plan_.unit_offsets[unit] - plan_.buckets[bucket].offset;
      places.push_back(window ? window->floats() + windows.offsets[bucket] + inside
                              : whole + plan_.unit_offsets[unit]);
    }
    return places;
  };
  parameters_of_ =
      place(parameters_->floats(), gathered_, strategy_.parameters_alive(plan_.buckets.size()));
  gradients_of_ = place(gradients_->floats(), fresh_, strategy_.alive);
}

float* ModelState::accumulated(UnitId unit) const {
  if (!accumulated_ || sums_shards())
    return nullptr;
  return accumulated_->floats() + plan_.unit_offsets[static_cast<std::size_t>(unit)];
}

float* ModelState::accumulated(const collectives::Bucket& bucket) const {
  return accumulated_ && sums_shards() ? accumulated_->floats() + plan_.shard_offset(bucket)
                                       : nullptr;
}

OptimizerViews ModelState::piece(const collectives::Bucket& bucket) const {
  const auto mine = strategy_.divides_optimizer;
  const auto inside = mine ? shard_ * plan_.shard_elements(bucket) : 0; // of the whole bucket
  const auto shard = mine ? plan_.shard_offset(bucket) : bucket.offset;
  const auto state = [&](std::size_t slot) {
    return slot < optimizer_.size() ? optimizer_[slot]->floats() + shard : nullptr;
  };
  return {.parameters = strategy_.divides_parameters ? parameters_->floats() + shard
                                                     : parameters(bucket) + inside,
          .gradients = strategy_.divides_gradients ? gradients_->floats() + shard
                                                   : gradients(bucket) + inside,
          .state0 = state(0),
          .state1 = state(1),
          .elements = mine ? plan_.shard_elements(bucket) : bucket.elements};
}

std::vector<OptimizerViews> ModelState::pieces() const {
  std::vector<OptimizerViews> found;
  for (const auto& bucket : plan_.buckets) {
    const auto view = piece(bucket);
    // Buckets descend: where pieces touch, the one before begins where this one ends.
    const bool touches = !found.empty() &&
                         view.parameters + view.elements == found.back().parameters &&
                         view.gradients + view.elements == found.back().gradients;
    if (touches) {
      const auto elements = found.back().elements;
      found.back() = view;
      found.back().elements += elements;
    } else if (view.elements > 0) {
      found.push_back(view);
    }
  }
  return found;
}

std::size_t ModelState::place_of(const Slot& slot) const {
  return plan_.unit_offsets[static_cast<std::size_t>(slot.unit)] + slot.offset;
}

Status ModelState::load(Stream& stream, const Checkpoint& checkpoint) {
  TROUPE_TRY(
      load_flat(stream, parameters_->floats(), strategy_.divides_parameters, "", checkpoint));
  TROUPE_TRY(load_statistics(stream, checkpoint));
  for (std::size_t i = 0; i < optimizer_.size(); ++i)
    TROUPE_TRY(load_flat(stream, optimizer_[i]->floats(), strategy_.divides_optimizer,
                         optimizer_slots_[i], checkpoint));
  TROUPE_TRY(load_loss_scale(stream, checkpoint));
  device_.zero(stream, gradients_->data(), gradients_->bytes());
  return stream.synchronize();
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

/// Null: a state of the optimizer that a run has not yet when it begins.
Result<const CheckpointTensor*> tensor_of(const Checkpoint& checkpoint, const Slot& slot,
                                          std::string_view state) {
  const auto name = state.empty() ? slot.name : optimizer_tensor_name(state, slot.name);
  const auto* tensor = checkpoint.find(name);
  if (!tensor && !state.empty() && checkpoint.step == 0)
    return nullptr;
  if (!tensor)
    return fail(Errc::corrupt, "the checkpoint of step {} has no tensor {}", checkpoint.step, name);
  if (tensor->shape != slot.shape)
    return fail(Errc::invalid_input, "tensor {} of the checkpoint is {}, the model's is {}", name,
                tensor->shape.to_string(), slot.shape.to_string());
  return tensor;
}

} // namespace

Status ModelState::load_flat(Stream& stream, float* destination, bool divided,
                             std::string_view state, const Checkpoint& checkpoint) {
  std::vector<float> flat(plan_.elements, 0.0f); // padding stays zero
  for (const auto& slot : layout_.parameters) {
    const auto tensor = tensor_of(checkpoint, slot, state);
    if (!tensor)
      return failure(tensor.error());
    if (*tensor)
      encode(slot, (*tensor)->values, std::span{flat}.subspan(place_of(slot), slot.elements));
  }
  if (divided) // shards move to the front, to where they lie in a rank's part
    for (std::size_t i = plan_.buckets.size(); i-- > 0;) {
      const auto& bucket = plan_.buckets[i];
      const auto elements = plan_.shard_elements(bucket);
      const auto shard =
          flat.begin() + static_cast<std::ptrdiff_t>(bucket.offset + shard_ * elements);
      std::copy_n(shard, elements,
                  flat.begin() + static_cast<std::ptrdiff_t>(plan_.shard_offset(bucket)));
    }
  const auto elements = divided ? plan_.shard_elements() : plan_.elements;
  device_.copy(stream, destination, flat.data(), elements * sizeof(float));
  device_.round(stream, destination, stored_, elements);
  return stream.synchronize();
}

Status ModelState::load_statistics(Stream& stream, const Checkpoint& checkpoint) {
  std::vector<float> flat(layout_.statistic_elements, 0.0f);
  for (const auto& slot : layout_.statistics) {
    const auto tensor = tensor_of(checkpoint, slot, "");
    if (!tensor)
      return failure(tensor.error());
    encode(slot, (*tensor)->values, std::span{flat}.subspan(slot.offset, slot.elements));
  }
  device_.copy(stream, statistics(), flat.data(), flat.size() * sizeof(float));
  device_.round(stream, statistics(), stored_, flat.size());
  return stream.synchronize();
}

void ModelState::copy_to(Stream& stream, Snapshot& snapshot) const {
  const auto copy = [&](std::vector<float>& host, const float* source, std::size_t elements,
                        bool divided) {
    host.resize(elements);
    if (!divided)
      device_.copy(stream, host.data(), source, elements * sizeof(float));
  };
  copy(snapshot.parameters, parameters_->floats(), plan_.elements, strategy_.divides_parameters);
  copy(snapshot.statistics, statistics(), layout_.statistic_elements, false);
  snapshot.optimizer.resize(optimizer_.size());
  for (std::size_t i = 0; i < optimizer_.size(); ++i)
    copy(snapshot.optimizer[i], optimizer_[i]->floats(), plan_.elements,
         strategy_.divides_optimizer);
  if (scaler_)
    device_.copy(stream, &snapshot.loss_scale.emplace(), loss_scale(), sizeof(LossScaleState));
}

Checkpoint ModelState::decode(const Snapshot& snapshot) const {
  std::size_t total = 0;
  for (const auto& slot : layout_.parameters)
    total += elements_of(slot) * (1 + snapshot.optimizer.size());
  for (const auto& slot : layout_.statistics)
    total += elements_of(slot);

  Checkpoint checkpoint;
  checkpoint.step = snapshot.step;
  if (snapshot.loss_scale)
    checkpoint.metadata[loss_scale_key] = to_string(*snapshot.loss_scale);
  const std::shared_ptr<std::byte[]> storage{new std::byte[total * sizeof(float)]};
  checkpoint.storage = storage;
  auto* next = reinterpret_cast<float*>(storage.get());
  const auto emit = [&](const Slot& slot, const std::string& name, const float* flat) {
    const std::span values{next, elements_of(slot)};
    decode_slot(slot, {flat, slot.elements}, values);
    checkpoint.tensors.push_back({name, slot.shape, values});
    next += values.size();
  };
  for (const auto& slot : layout_.parameters)
    emit(slot, slot.name, snapshot.parameters.data() + place_of(slot));
  for (const auto& slot : layout_.statistics)
    emit(slot, slot.name, snapshot.statistics.data() + slot.offset);
  for (std::size_t i = 0; i < snapshot.optimizer.size(); ++i)
    for (const auto& slot : layout_.parameters)
      emit(slot, optimizer_tensor_name(optimizer_slots_[i], slot.name),
           snapshot.optimizer[i].data() + place_of(slot));
  return checkpoint;
}

void bind(Executable& executable, const ModelState& state) {
  const auto units = static_cast<UnitId>(state.layout().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    executable.bind(unit, state.parameters(unit), state.gradients(unit));
  executable.bind_statistics(state.statistics());
  if (auto* const scaler = state.loss_scale())
    executable.bind_loss_scale(&scaler->scale);
}

} // namespace troupe::actors
