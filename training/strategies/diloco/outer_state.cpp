#include "training/strategies/diloco/outer_state.hpp"

#include "core/fail.hpp"
#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include <algorithm>

namespace troupe::training {

using collectives::MessagePtr;

OuterState::OuterState(std::shared_ptr<RankState> rank_state)
    : rank_state_{std::move(rank_state)}, fragments_{fragments_of(state())} {}

Result<std::shared_ptr<OuterState>> OuterState::create(std::shared_ptr<RankState> rank_state) {
  std::shared_ptr<OuterState> made{new OuterState{std::move(rank_state)}};
  TROUPE_TRY(made->allocate());
  for (const auto& fragment : made->fragments_)
    made->copy_local(fragment, made->in(made->global_, fragment));
  TROUPE_TRY(made->stream().synchronize());
  return made;
}

Status OuterState::allocate() {
  const auto take = [this](BufferPtr& buffer, std::size_t elements, MemoryKind kind) -> Status {
    TROUPE_TRY(buffer, device().allocate(elements * sizeof(float), kind));
    device().zero(stream(), buffer->data(), buffer->bytes());
    return {};
  };
  const auto& diloco = strategy().diloco;
  const auto all = elements_of(fragments_), most = largest(fragments_);
  TROUPE_TRY(take(global_, all, MemoryKind::parameters));
  if (diloco.overlap > 0)
    TROUPE_TRY(take(sent_, all, MemoryKind::parameters));
  if (leads() && diloco.compress != Compression::none && diloco.error_feedback)
    TROUPE_TRY(take(residual_, all, MemoryKind::optimizer));
  TROUPE_TRY(take(pseudo_gradient_, most, MemoryKind::communication));
  return take(decoded_, most, MemoryKind::communication);
}

float* OuterState::parameters(const Fragment::Part& part) const {
  return state().buffers().part().parameters(state().layout().plan().buckets[part.bucket]);
}

void OuterState::copy_local(const Fragment& fragment, float* to) {
  for (const auto& part : fragment.parts)
    device().copy(stream(), to + part.place, parameters(part), part.elements * sizeof(float));
}

/// Writes the pseudo-gradient to pseudo_gradient_.
void OuterState::take_pseudo_gradient(const Fragment& fragment, double weight) {
  float* const pseudo_gradient = pseudo_gradient_->floats();
  device().zero(stream(), pseudo_gradient, fragment.elements * sizeof(float)); // also the padding
  copy_local(fragment, pseudo_gradient);
  device().scale(stream(), pseudo_gradient, -1, fragment.elements);
  device().add(stream(), pseudo_gradient, in(global_, fragment), fragment.elements);
  if (weight != 1)
    device().scale(stream(), pseudo_gradient, static_cast<float>(weight), fragment.elements);
  if (residual_)
    device().add(stream(), pseudo_gradient, in(residual_, fragment), fragment.elements);
}

Result<std::vector<BufferPtr>> OuterState::end_round(int number, double weight) {
  const auto& fragment = at(number);
  if (sent_)
    copy_local(fragment, in(sent_, fragment));
  std::vector<BufferPtr> chunks;
  if (!leads())
    return chunks;
  take_pseudo_gradient(fragment, weight);
  for (std::size_t place = 0; place < fragment.elements; place += fragment.chunk) { // by owner
    float* const residual = residual_ ? in(residual_, fragment) + place : nullptr;
    TROUPE_TRY(auto chunk, encode_pseudo_gradient(device(), stream(), strategy().diloco.compress,
                                                  pseudo_gradient_->floats() + place,
                                                  fragment.chunk, residual));
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

void OuterState::apply(int number, std::span<const MessagePtr> sums, double* norm) {
  const auto& fragment = at(number);
  for (std::size_t owner = 0; owner < sums.size(); ++owner)
    decode_pseudo_gradient(device(), stream(), strategy().diloco.compress,
                           sums[owner]->values->data(),
                           pseudo_gradient_->floats() + owner * fragment.chunk, fragment.chunk);
  stream().on_complete(
      [kept = std::vector<MessagePtr>{sums.begin(), sums.end()}](const Status&) {});
  step(fragment, true);
  device().zero(stream(), &state().scratch()->squared_norm, sizeof(double));
  device().add_squared_norm(stream(), {}, in(global_, fragment), fragment.elements,
                            &state().scratch()->squared_norm, nullptr);
  device().copy(stream(), norm, &state().scratch()->squared_norm, sizeof(double));
  if (sent_)
    return add_to_local(fragment);
  for (const auto& part : fragment.parts)
    device().copy(stream(), parameters(part), in(global_, fragment) + part.place,
                  part.elements * sizeof(float));
  for (const auto& part : fragment.parts)
    device().round(stream(), parameters(part), state().layout().stored(), part.elements);
}

/// Applies SGD to the global parameters, with pseudo_gradient_ as the gradient.
void OuterState::step(const Fragment& fragment, bool with_momentum) {
  const auto& diloco = strategy().diloco;
  // Step 2, because momentum starts as zeros.
  OptimizerArguments arguments{.lr = static_cast<float>(diloco.lr), .step = 2};
  if (with_momentum) {
    arguments.momentum = static_cast<float>(diloco.momentum);
    arguments.nesterov = diloco.nesterov;
  }
  for (const auto& part : fragment.parts) {
    const OptimizerViews views{.parameters = in(global_, fragment) + part.place,
                               .gradients = pseudo_gradient_->floats() + part.place,
                               .state0 = with_momentum
                                             ? state().buffers().part().outer_momentum(
                                                   state().layout().plan().buckets[part.bucket])
                                             : nullptr,
                               .elements = part.elements};
    device().optimizer_step(stream(), arguments, views, nullptr, nullptr);
  }
}

/// Adds to the local parameters the difference between the new global ones and those sent.
void OuterState::add_to_local(const Fragment& fragment) {
  float* const moved = in(sent_, fragment);
  device().scale(stream(), moved, -1, fragment.elements);
  device().add(stream(), moved, in(global_, fragment), fragment.elements);
  for (const auto& part : fragment.parts) {
    device().add(stream(), parameters(part), moved + part.place, part.elements);
    device().round(stream(), parameters(part), state().layout().stored(), part.elements);
  }
}

void OuterState::synchronize(int number, bool trained, double weight,
                             std::span<const MessagePtr> late, const float* rounded_off) {
  const auto& fragment = at(number);
  const auto compression = strategy().diloco.compress;
  if (leads()) {
    take_pseudo_gradient(fragment, weight);
    float* const mine =
        pseudo_gradient_->floats() +
        static_cast<std::size_t>(rank_state_->rank / strategy().replica_group) * fragment.chunk;
    for (const auto& message : late) {
      decode_pseudo_gradient(device(), stream(), compression, message->values->data(),
                             decoded_->floats(), fragment.chunk);
      device().add(stream(), mine, decoded_->floats(), fragment.chunk);
      stream().on_complete([message](const Status&) {}); // keeps the message alive for the stream
    }
    if (rounded_off)
      device().add(stream(), mine, rounded_off, fragment.chunk);
  }
  sum_over_replica_groups(pseudo_gradient_->floats(), fragment.elements,
                          compression == Compression::none ? DType::f32 : DType::f16);
  step(fragment, trained);
  settle(fragment);
}

/// Reduces the state to what a checkpoint stores: rounded global parameters and momentum, no
/// residual.
void OuterState::settle(const Fragment& fragment) {
  for (const auto& part : fragment.parts) {
    const auto bytes = part.elements * sizeof(float);
    float* const global = in(global_, fragment) + part.place;
    device().round(stream(), global, state().layout().stored(), part.elements);
    device().copy(stream(), parameters(part), global, bytes);
    if (float* const momentum =
            state().buffers().part().outer_momentum(state().layout().plan().buckets[part.bucket]))
      device().round(stream(), momentum, state().layout().stored(), part.elements);
  }
  if (residual_)
    device().zero(stream(), in(residual_, fragment), fragment.elements * sizeof(float));
}

void OuterState::average_optimizer(double weight) {
  const bool narrow = strategy().diloco.compress != Compression::none;
  const auto most = decoded_->bytes() / sizeof(float);
  for (const auto& array : state().buffers().part().inner_slots())
    for (auto rest = array; !rest.empty(); rest = rest.subspan(std::min(most, rest.size()))) {
      const auto some = rest.first(std::min(most, rest.size()));
      device().scale(stream(), some.data(), static_cast<float>(weight), some.size());
      sum_over_replica_groups(some.data(), some.size(), narrow ? DType::bf16 : DType::f32);
      device().round(stream(), some.data(), state().layout().stored(), some.size());
    }
}

/// Sums over the leaders of the replica groups. If a group replicates the state, its leader then
/// broadcasts the sum to the other ranks.
void OuterState::sum_over_replica_groups(float* values, std::size_t elements, DType narrow) {
  auto& across = *rank_state_->across;
  if (leads() && across.world_size() > 1) {
    if (narrow != DType::f32)
      device().narrow(stream(), values, decoded_->data(), narrow, elements);
    across.all_reduce(
        stream(),
        {narrow == DType::f32 ? static_cast<void*>(values) : decoded_->data(), elements, narrow});
    if (narrow != DType::f32)
      device().widen(stream(), decoded_->data(), narrow, values, elements);
  }
  if (rank_state_->replicate_group->world_size() > 1)
    rank_state_->replicate_group->broadcast(stream(), {values, elements}, 0);
}

} // namespace troupe::training
