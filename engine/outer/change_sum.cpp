#include "engine/outer/change_sum.hpp"

#include "core/fail.hpp"
#include "engine/asynchronous/letters.hpp"
#include "engine/outer/change_codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace troupe::engine {

using collectives::Compression;
using collectives::MailPtr;

ChangeSum::ChangeSum(std::shared_ptr<Replica> replica, const std::vector<Fragment>& fragments)
    : replica_{std::move(replica)} {
  std::size_t place = 0;
  for (const auto& fragment : fragments) {
    chunks_.push_back(fragment.chunk);
    places_.push_back(std::exchange(place, place + fragment.chunk));
  }
}

Result<std::shared_ptr<ChangeSum>> ChangeSum::create(std::shared_ptr<Replica> replica,
                                                     const std::vector<Fragment>& fragments) {
  std::shared_ptr<ChangeSum> made{new ChangeSum{std::move(replica), fragments}};
  TROUPE_TRY(made->allocate());
  return made;
}

Status ChangeSum::allocate() {
  const auto& outer = replica_->state->strategy().outer;
  const auto bytes = std::ranges::max(chunks_) * sizeof(float);
  TROUPE_TRY(sum_, device().allocate(bytes, MemoryKind::communication));
  TROUPE_TRY(decoded_, device().allocate(bytes, MemoryKind::communication));
  TROUPE_TRY(squares_, device().allocate(2 * sizeof(double), MemoryKind::workspace));
  if (outer.compression == Compression::none || !outer.error_feedback)
    return {};
  const auto all = (places_.back() + chunks_.back()) * sizeof(float);
  TROUPE_TRY(rounded_off_, device().allocate(all, MemoryKind::optimizer));
  device().zero(stream(), rounded_off_->data(), all);
  return stream().synchronize();
}

void ChangeSum::add_square(const float* values, std::size_t elements, double weight,
                           std::size_t to) {
  const OptimizerArguments scaled{.gradient_scale = static_cast<float>(std::sqrt(weight))};
  device().add_squared_norm(stream(), scaled, values, elements,
                            reinterpret_cast<double*>(squares_->data()) + to, nullptr);
}

/// Of changes that have each their team's weight as a factor already.
void ChangeSum::add(std::span<const MailPtr> changes, std::size_t elements) {
  device().zero(stream(), squares_->data(), squares_->bytes());
  device().zero(stream(), sum_->data(), elements * sizeof(float));
  for (const auto& mail : changes) {
    decode_change(device(), stream(), replica_->state->strategy().outer.compression,
                  mail->values->data(), decoded_->floats(), elements);
    device().add(stream(), sum_->floats(), decoded_->floats(), elements);
    add_square(decoded_->floats(), elements, 1 / RoundChange::weight_of(*mail), 0);
  }
  add_square(sum_->floats(), elements, 1, 1);
}

Status ChangeSum::close(Round round, std::vector<MailPtr> changes, Send send) {
  const auto compression = replica_->state->strategy().outer.compression;
  const auto number = static_cast<std::size_t>(round.fragment);
  const auto elements = chunks_[number];
  add(changes, elements);
  float* const sum = sum_->floats();
  float* const rest = rounded_off_ ? rounded_off_->floats() + places_[number] : nullptr;
  if (rest)
    device().add(stream(), sum, rest, elements);
  const auto bytes = change_bytes(compression, elements);
  TROUPE_TRY(auto values, device().allocate(bytes, mail_memory(device())));
  encode_change(device(), stream(), compression, sum, values->data(), elements);
  if (rest) {
    decode_change(device(), stream(), compression, values->data(), rest, elements);
    device().scale(stream(), rest, -1, elements);
    device().add(stream(), rest, sum, elements);
  }
  const auto owner = replica_->rank / replica_->state->strategy().team;
  const auto squares = std::make_shared<std::array<double, 2>>();
  device().copy(stream(), squares->data(), squares_->data(), sizeof *squares);
  stream().on_complete([=, changes = std::move(changes), values = std::move(values),
                        send = std::move(send)](const Status& status) mutable {
    changes.clear(); // before others know the sum, and send more
    if (!status)
      return; // the stream has failed, and says so itself
    const auto spread = std::max(0.0, (*squares)[0] - (*squares)[1]);
    auto mail = RoundSum{.round = round, .spread = spread, .owner = owner}.to_mail();
    mail.values = std::move(values);
    mail.bytes = bytes;
    send(std::move(mail));
  });
  return {};
}

const float* ChangeSum::rounded_off(int fragment) const {
  return rounded_off_ ? rounded_off_->floats() + places_[static_cast<std::size_t>(fragment)]
                      : nullptr;
}

void ChangeSum::forget(int fragment) {
  const auto number = static_cast<std::size_t>(fragment);
  if (rounded_off_)
    device().zero(stream(), rounded_off_->floats() + places_[number],
                  chunks_[number] * sizeof(float));
}

} // namespace troupe::engine
