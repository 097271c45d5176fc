#include "training/strategies/diloco/pseudo_gradient_reducer.hpp"

#include "core/fail.hpp"
#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace troupe::training {

using collectives::MessagePtr;

PseudoGradientReducer::PseudoGradientReducer(std::shared_ptr<RankState> rank_state,
                                             const std::vector<Fragment>& fragments)
    : rank_state_{std::move(rank_state)} {
  std::size_t place = 0;
  for (const auto& fragment : fragments) {
    chunks_.push_back(fragment.chunk);
    places_.push_back(std::exchange(place, place + fragment.chunk));
  }
}

Result<std::shared_ptr<PseudoGradientReducer>>
PseudoGradientReducer::create(std::shared_ptr<RankState> rank_state,
                              const std::vector<Fragment>& fragments) {
  std::shared_ptr<PseudoGradientReducer> made{
      new PseudoGradientReducer{std::move(rank_state), fragments}};
  TROUPE_TRY(made->allocate());
  return made;
}

Status PseudoGradientReducer::allocate() {
  const auto& diloco = rank_state_->state->layout().strategy().diloco;
  const auto bytes = std::ranges::max(chunks_) * sizeof(float);
  TROUPE_TRY(sum_, device().allocate(bytes, MemoryKind::communication));
  TROUPE_TRY(decoded_, device().allocate(bytes, MemoryKind::communication));
  TROUPE_TRY(squares_, device().allocate(2 * sizeof(double), MemoryKind::workspace));
  if (diloco.compress == Compression::none || !diloco.error_feedback)
    return {};
  const auto all = (places_.back() + chunks_.back()) * sizeof(float);
  TROUPE_TRY(rounded_off_, device().allocate(all, MemoryKind::optimizer));
  device().zero(stream(), rounded_off_->data(), all);
  return stream().synchronize();
}

void PseudoGradientReducer::add_square(const float* values, std::size_t elements, double weight,
                                       std::size_t to) {
  const OptimizerArguments scaled{.gradient_scale = static_cast<float>(std::sqrt(weight))};
  device().add_squared_norm(stream(), scaled, values, elements,
                            reinterpret_cast<double*>(squares_->data()) + to, nullptr);
}

/// Sums pseudo-gradients, which already include their replica group's weight.
void PseudoGradientReducer::add(std::span<const MessagePtr> pseudo_gradients,
                                std::size_t elements) {
  device().zero(stream(), squares_->data(), squares_->bytes());
  device().zero(stream(), sum_->data(), elements * sizeof(float));
  for (const auto& message : pseudo_gradients) {
    decode_pseudo_gradient(device(), stream(),
                           rank_state_->state->layout().strategy().diloco.compress,
                           message->values->data(), decoded_->floats(), elements);
    device().add(stream(), sum_->floats(), decoded_->floats(), elements);
    add_square(decoded_->floats(), elements, 1 / PseudoGradientMessage::weight_of(*message), 0);
  }
  add_square(sum_->floats(), elements, 1, 1);
}

Status PseudoGradientReducer::close(Round round, std::vector<MessagePtr> pseudo_gradients,
                                    Send send) {
  const auto compression = rank_state_->state->layout().strategy().diloco.compress;
  const auto number = static_cast<std::size_t>(round.fragment);
  const auto elements = chunks_[number];
  add(pseudo_gradients, elements);
  float* const sum = sum_->floats();
  float* const rest = rounded_off_ ? rounded_off_->floats() + places_[number] : nullptr;
  if (rest)
    device().add(stream(), sum, rest, elements);
  TROUPE_TRY(auto values,
             encode_pseudo_gradient(device(), stream(), compression, sum, elements, rest));
  const auto owner = rank_state_->rank / rank_state_->state->layout().strategy().replica_group;
  const auto squares = std::make_shared<std::array<double, 2>>();
  device().copy(stream(), squares->data(), squares_->data(), sizeof *squares);
  stream().on_complete([=, pseudo_gradients = std::move(pseudo_gradients),
                        values = std::move(values),
                        send = std::move(send)](const Status& status) mutable {
    pseudo_gradients.clear(); // before other ranks get the sum and send more
    if (!status)
      return; // the stream reports its failure itself
    const auto spread = std::max(0.0, (*squares)[0] - (*squares)[1]);
    auto message = RoundSum{.round = round, .spread = spread, .owner = owner}.to_message();
    message.bytes = values->bytes();
    message.values = std::move(values);
    send(std::move(message));
  });
  return {};
}

const float* PseudoGradientReducer::rounded_off(int fragment) const {
  return rounded_off_ ? rounded_off_->floats() + places_[static_cast<std::size_t>(fragment)]
                      : nullptr;
}

void PseudoGradientReducer::forget(int fragment) {
  const auto number = static_cast<std::size_t>(fragment);
  if (rounded_off_)
    device().zero(stream(), rounded_off_->floats() + places_[number],
                  chunks_[number] * sizeof(float));
}

} // namespace troupe::training
