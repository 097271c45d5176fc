#include "training/state/model_state.hpp"

#include "core/fail.hpp"

namespace troupe::training {

Result<std::shared_ptr<ModelState>> ModelState::create(Device& device, const StorageLayout& storage,
                                                       const StateOptions& options) {
  std::shared_ptr<ModelState> state{new ModelState{device, storage, options}};
  TROUPE_TRY(state->allocate(options));
  return state;
}

Status ModelState::allocate(const StateOptions& options) {
  TROUPE_TRY(buffers_.allocate(options));
  TROUPE_TRY(statistics_.allocate(options));
  TROUPE_TRY(scratch_, device_.allocate(sizeof(StepScratch), MemoryKind::workspace));
  if (options.loss_scale)
    TROUPE_TRY(allocate_loss_scale());
  if (options.keeps_base)
    TROUPE_TRY(allocate_base());
  if (options.replica_rank_of) {
    const auto shard =
        static_cast<std::size_t>(layout_.strategy().shard_of(*options.replica_rank_of));
    TROUPE_TRY(shard_replica_.emplace(layout_, shard).allocate_replica(device_));
  }
  return prepares_ && !device_.info().on_host ? allocate_prepared() : Status{};
}

Status ModelState::allocate_loss_scale() {
  TROUPE_TRY(scaler_, device_.allocate(sizeof(LossScaleState), MemoryKind::optimizer));
  return layout_.strategy().is_asynchronous()
             ? allocate_floats(device_, read_scale_, 1, MemoryKind::workspace)
             : Status{};
}

Status ModelState::allocate_base() {
  const auto add_bytes = [&](void* live, std::size_t bytes, MemoryKind kind) -> Status {
    if (bytes == 0)
      return {};
    TROUPE_TRY(auto kept, device_.allocate(bytes, kind));
    base_.push_back({live, std::move(kept), bytes});
    return {};
  };
  const auto add = [&](std::span<float> values, MemoryKind kind) {
    return add_bytes(values.data(), values.size_bytes(), kind);
  };
  TROUPE_TRY(add(buffers_.owned_parameters(), MemoryKind::parameters));
  TROUPE_TRY(add({statistics_.values(), statistics_.elements()}, MemoryKind::parameters));
  const auto& part = buffers_.part();
  for (std::size_t slot = 0; slot < part.slots(); ++slot)
    TROUPE_TRY(add(part.slot(slot), MemoryKind::optimizer));
  if (scaler_)
    TROUPE_TRY(add_bytes(scaler_->data(), sizeof(LossScaleState), MemoryKind::optimizer));
  return add_bytes(&scratch()->steps, sizeof scratch()->steps, MemoryKind::workspace);
}

Status ModelState::allocate_prepared() {
  const auto elements = layout_.plan().shard_elements();
  TROUPE_TRY(allocate_floats(device_, prepared_.gradients, elements, MemoryKind::gradients));
  if (shard_replica_)
    TROUPE_TRY(allocate_floats(device_, prepared_.replicated, elements, MemoryKind::gradients));
  TROUPE_TRY(prepared_.memory,
             device_.allocate(sizeof(PreparedStep::Scratch), MemoryKind::workspace));
  return {};
}

void ModelState::copy_loss_scale(Stream& stream, std::optional<LossScaleState>& to) const {
  if (scaler_)
    device_.copy(stream, &to.emplace(), loss_scale(), sizeof(LossScaleState));
}

Result<std::shared_ptr<Snapshot>> ModelState::begin_snapshot(std::int64_t step) const {
  const auto& memory = buffers_.snapshot();
  if (memory.use_count() > 1)
    return fail(Errc::internal,
                "the state of step {} cannot be copied: an earlier copy is still "
                "being written",
                step);
  return std::make_shared<Snapshot>(step, layout_.written(), memory);
}

Result<ModelState::Steps> ModelState::read_steps(Stream& stream) const {
  Steps steps;
  device_.copy(stream, &steps.applied, &scratch()->steps, sizeof steps.applied);
  device_.copy(stream, &steps.prepared, &scratch()->prepared_steps, sizeof steps.prepared);
  TROUPE_TRY(stream.synchronize());
  if (!prepares_)
    steps.prepared = steps.applied;
  return steps;
}

void ModelState::vote(Stream& stream) const {
  device_.copy(stream, &scratch()->votes, &scratch()->yes, sizeof(float));
}

void ModelState::keep_base(Stream& stream) const {
  for (const auto& part : base_)
    device_.keep(stream, part.kept->data(), part.live, part.bytes);
}

void ModelState::return_to_base(Stream& stream) const {
  for (const auto& part : base_)
    device_.copy(stream, part.live, part.kept->data(), part.bytes);
}

void ModelState::prepare(Stream& stream) const {
  if (prepared_.gradients) {
    const auto& part = buffers_.part();
    for (const auto& bucket : layout_.plan().buckets)
      device_.keep(stream, prepared_.gradients->floats() + layout_.offset(bucket),
                   part.gradients(bucket), layout_.part(bucket).elements * sizeof(float));
    if (shard_replica_)
      device_.keep(stream, prepared_.replicated->data(), shard_replica_->gradients().data(),
                   prepared_.replicated->bytes());
    device_.keep(stream, &prepared_.scratch()->clip_factor, &scratch()->clip_factor, sizeof(float));
    if (scaler_)
      device_.keep(stream, &prepared_.scratch()->loss_scale, loss_scale(), sizeof(LossScaleState));
  }
  device_.count_update(stream, &scratch()->prepared_steps);
}

const float* ModelState::prepared_gradients(const OptimizerPart& part, const Bucket& bucket) const {
  const auto& copy = &part == shard_replica() ? prepared_.replicated : prepared_.gradients;
  return copy ? copy->floats() + layout_.offset(bucket) : part.gradients(bucket);
}

std::vector<const OptimizerPart*> ModelState::parts() const {
  std::vector<const OptimizerPart*> parts{&buffers_.part()};
  if (shard_replica_)
    parts.push_back(&*shard_replica_);
  return parts;
}

void bind(Executable& executable, const ModelState& state) {
  const auto units = static_cast<UnitId>(state.layout().storage().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    executable.bind(unit, state.buffers().parameters(unit), state.buffers().gradients(unit));
  executable.bind_statistics(state.statistics().values());
  if (const auto* const scale = state.read_scale())
    executable.bind_loss_scale(scale);
}

void unbind(Executable& executable) {
  const auto units = static_cast<UnitId>(executable.layout().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    executable.bind(unit, nullptr, nullptr);
  executable.bind_statistics(nullptr);
  executable.bind_loss_scale(nullptr);
  executable.bind_sum_over_ranks({});
}

} // namespace troupe::training
