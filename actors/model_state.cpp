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
    : device_{device}, layout_{layout}, optimizer_slots_{options.optimizer_slots.begin(),
                                                         options.optimizer_slots.end()},
      loss_scale_options_{options.loss_scale}, stored_{options.stored} {
  for (const auto unit : layout_.unit_elements) {
    unit_offsets_.push_back(elements_);
    elements_ += unit;
  }
}

Result<std::shared_ptr<ModelState>> ModelState::create(Device& device, const StorageLayout& layout,
                                                       const Options& options) {
  std::shared_ptr<ModelState> state{new ModelState{device, layout, options}};
  TROUPE_TRY(state->allocate(options.accumulate));
  return state;
}

Status ModelState::allocate(bool accumulate) {
  const auto take = [this](BufferPtr& buffer, std::size_t elements, MemoryKind kind) -> Status {
    // A model without statistics still gets an address.
    auto allocated = device_.allocate(std::max<std::size_t>(elements, 1) * sizeof(float), kind);
    if (!allocated)
      return failure(allocated.error());
    buffer = *allocated;
    return {};
  };
  TROUPE_TRY(take(parameters_, elements_, MemoryKind::parameters));
  TROUPE_TRY(take(gradients_, elements_, MemoryKind::gradients));
  TROUPE_TRY(take(statistics_, layout_.statistic_elements, MemoryKind::parameters));
  TROUPE_TRY(take(scratch_, 4, MemoryKind::workspace));
  if (accumulate)
    TROUPE_TRY(take(accumulated_, elements_, MemoryKind::gradients));
  if (loss_scale_options_)
    TROUPE_TRY(take(scaler_, sizeof(LossScaleState) / sizeof(float), MemoryKind::optimizer));
  optimizer_.resize(optimizer_slots_.size());
  for (auto& buffer : optimizer_)
    TROUPE_TRY(take(buffer, elements_, MemoryKind::optimizer));
  return {};
}

float* ModelState::optimizer(std::size_t slot) const {
  return slot < optimizer_.size() ? optimizer_[slot]->floats() : nullptr;
}

std::size_t ModelState::place_of(const Slot& slot) const {
  return unit_offset(slot.unit) + slot.offset;
}

Status ModelState::load(Stream& stream, const Checkpoint& checkpoint) {
  TROUPE_TRY(load_flat(stream, parameters(), elements_, layout_.parameters, "", checkpoint));
  TROUPE_TRY(load_flat(stream, statistics(), layout_.statistic_elements, layout_.statistics, "",
                       checkpoint));
  for (std::size_t i = 0; i < optimizer_.size(); ++i)
    TROUPE_TRY(load_flat(stream, optimizer(i), elements_, layout_.parameters, optimizer_slots_[i],
                         checkpoint));
  TROUPE_TRY(load_loss_scale(stream, checkpoint));
  device_.zero(stream, gradients(), elements_ * sizeof(float));
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

Status ModelState::load_flat(Stream& stream, float* destination, std::size_t elements,
                             const std::vector<Slot>& slots, std::string_view state,
                             const Checkpoint& checkpoint) {
  std::vector<float> flat(elements, 0.0f); // padding stays zero
  const bool statistics = &slots == &layout_.statistics;
  for (const auto& slot : slots) {
    const auto name = state.empty() ? slot.name : optimizer_tensor_name(state, slot.name);
    const auto* tensor = checkpoint.find(name);
    if (!tensor && !state.empty() && checkpoint.step == 0)
      continue; // a run that begins has no optimizer state yet
    if (!tensor)
      return fail(Errc::corrupt, "the checkpoint of step {} has no tensor {}", checkpoint.step,
                  name);
    if (tensor->shape != slot.shape)
      return fail(Errc::invalid_input, "tensor {} of the checkpoint is {}, the model's is {}", name,
                  tensor->shape.to_string(), slot.shape.to_string());
    const auto place = statistics ? slot.offset : place_of(slot);
    encode(slot, tensor->values, std::span{flat}.subspan(place, slot.elements));
  }
  device_.copy(stream, destination, flat.data(), elements * sizeof(float));
  device_.round(stream, destination, stored_, elements);
  return stream.synchronize();
}

void ModelState::copy_to(Stream& stream, Snapshot& snapshot) const {
  const auto copy = [&](std::vector<float>& host, const float* source, std::size_t elements) {
    host.resize(elements);
    device_.copy(stream, host.data(), source, elements * sizeof(float));
  };
  copy(snapshot.parameters, parameters(), elements_);
  copy(snapshot.statistics, statistics(), layout_.statistic_elements);
  snapshot.optimizer.resize(optimizer_.size());
  for (std::size_t i = 0; i < optimizer_.size(); ++i)
    copy(snapshot.optimizer[i], optimizer(i), elements_);
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
    executable.bind(unit, state.parameters() + state.unit_offset(unit),
                    state.gradients() + state.unit_offset(unit));
  executable.bind_statistics(state.statistics());
  if (auto* const scaler = state.loss_scale())
    executable.bind_loss_scale(&scaler->scale);
}

} // namespace troupe::actors
