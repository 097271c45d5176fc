#include "training/strategies/async/parameter_client.hpp"

#include "core/fail.hpp"

namespace troupe::training {

using collectives::Message;
using collectives::MessagePtr;

ParameterClient::ParameterClient(std::shared_ptr<RankState> rank_state,
                                 std::shared_ptr<collectives::PointToPoint> point_to_point)
    : rank_state_{std::move(rank_state)}, point_to_point_{std::move(point_to_point)},
      read_(static_cast<std::size_t>(state().layout().strategy().world_size)) {}

void ParameterClient::take(const MessagePtr& message) {
  const auto owner = static_cast<std::size_t>(message->from);
  read_[owner] = Parameters::of(*message).at;
  if (!message->values)
    return;
  const auto& plan = state().layout().plan();
  for (const auto& bucket : plan.buckets) {
    const auto elements = plan.shard_elements(bucket);
    rank_state().device().copy(stream(), state().buffers().parameters(bucket) + owner * elements,
                               message->values->floats() + plan.shard_offset(bucket),
                               elements * sizeof(float));
  }
  stream().on_complete([message](const Status&) {}); // keeps the message alive for the stream
}

Status ParameterClient::take_rest(Version version, float scale) {
  if (state().statistics().commits())
    state().statistics().revert(stream(), version - 1);
  return state().loss_scale() && scale != scale_ ? take_scale(scale) : Status{};
}

/// Copies from message memory, so that the call does not wait for the stream: a device may block
/// when it copies from other host memory.
Status ParameterClient::take_scale(float scale) {
  auto& device = rank_state().device();
  TROUPE_TRY(const auto value, device.allocate(sizeof scale, collectives::message_memory(device)));
  *value->floats() = scale;
  device.copy(stream(), state().read_scale(), value->data(), sizeof scale);
  stream().on_complete([value](const Status&) {}); // keeps the value alive for the stream
  scale_ = scale;
  return {};
}

void ParameterClient::send(std::vector<Message> message) {
  stream().on_complete([point_to_point = point_to_point_,
                        message = std::move(message)](const Status& status) mutable {
    if (!status)
      return; // the stream reports its failure itself
    for (auto& each : message)
      point_to_point->send(std::move(each));
  });
}

Result<std::uint64_t> ParameterClient::give(const Bucket& bucket, std::size_t number,
                                            const data::WorkItem& item) {
  float* const all = state().buffers().gradients(bucket);
  rank_state().device().zero(stream(), all + bucket.elements - bucket.padding,
                             bucket.padding * sizeof(float));
  const auto elements = state().layout().plan().shard_elements(bucket);
  std::vector<Message> message;
  std::uint64_t bytes = 0;
  for (int owner = 0; owner < std::ssize(read_); ++owner) {
    auto one = Gradients{.step = item.step,
                         .slice = item.slice,
                         .bucket = number,
                         .read = read(owner).version,
                         .scale = scale_.value_or(1)}
                   .to_message();
    one.from = item.worker;
    one.to = owner;
    one.bytes = elements * sizeof(float);
    TROUPE_TRY(one.values,
               copy_for_message(rank_state().device(), stream(),
                                all + static_cast<std::size_t>(owner) * elements, elements));
    bytes += owner == rank_state().rank ? 0 : one.bytes;
    message.push_back(std::move(one));
  }
  send(std::move(message));
  return bytes;
}

Result<std::uint64_t> ParameterClient::give_statistics(std::int64_t step) {
  const auto elements = state().layout().storage().statistic_elements;
  TROUPE_TRY(const auto values, copy_for_message(rank_state().device(), stream(),
                                                 state().statistics().values(), elements));
  std::vector<Message> message;
  for (int rank = 0; rank < std::ssize(read_); ++rank) {
    auto one = message_of_step(MessageKind::statistics, step);
    one.from = rank_state().rank;
    one.to = rank;
    one.bytes = elements * sizeof(float);
    one.values = values;
    message.push_back(std::move(one));
  }
  send(std::move(message));
  return (read_.size() - 1) * elements * sizeof(float);
}

} // namespace troupe::training
