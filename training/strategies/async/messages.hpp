/// Messages of asynchronous training, in addition to the collectives
/// (collectives/point_to_point/message.hpp): between the owner of a shard of the parameters and the
/// ranks that compute with all shards.
#pragma once

#include "collectives/point_to_point/message.hpp"
#include "core/fail.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace troupe::training {

enum class MessageKind : std::int64_t {
  pull,       ///< to an owner: requests the newest parameters of its shard
  parameters, ///< the owner's reply
  gradients,  ///< to an owner: gradients of one slice, its shard of a bucket
  statistics, ///< to all: batch norm statistics after a step, from the rank that computed slice 0
  copy        ///< to a shard replica: the sum of a step's gradients
};

/// The number of steps applied to parameters.
using Version = std::int64_t;

/// Parameters after `version` steps, or a prediction of them `predicted` steps later from the
/// gradients that have arrived (WeightPrediction).
struct ParameterVersion {
  Version version = -1; ///< below 0: none
  std::int64_t predicted = 0;
  std::int64_t arrived = 0; ///< gradients that arrived of the predicted steps, by slice and bucket

  bool operator==(const ParameterVersion&) const = default;
};

struct Pull {
  ParameterVersion have; ///< version that the sender already has
  Version wanted = 0;    ///< step that the parameters are for

  collectives::Message to_message() const {
    return {.header = {std::int64_t(MessageKind::pull), have.version, have.predicted, have.arrived,
                       wanted}};
  }
  static Pull of(const collectives::Message& message) {
    const auto& h = message.header;
    return {.have = {.version = h[1], .predicted = h[2], .arrived = h[3]}, .wanted = h[4]};
  }
};

/// Values: the owner's shard of every bucket, in the order of its flat space; none if the reader
/// has this version.
struct Parameters {
  ParameterVersion at;

  collectives::Message to_message() const {
    return {
        .header = {std::int64_t(MessageKind::parameters), at.version, at.predicted, at.arrived}};
  }
  static Parameters of(const collectives::Message& message) {
    const auto& h = message.header;
    return {{.version = h[1], .predicted = h[2], .arrived = h[3]}};
  }
};

/// Values: the owner's shard of a bucket.
struct Gradients {
  std::int64_t step = 0;
  int slice = 0;
  std::size_t bucket = 0;
  Version read = 0; ///< version of the owner's parameters that the gradients were computed with
  float scale = 1;  ///< of the loss

  collectives::Message to_message() const {
    return {.header = {std::int64_t(MessageKind::gradients), step, slice, std::int64_t(bucket),
                       read, std::bit_cast<std::int32_t>(scale)}};
  }
  static Gradients of(const collectives::Message& message) {
    const auto& h = message.header;
    return {.step = h[1],
            .slice = static_cast<int>(h[2]),
            .bucket = static_cast<std::size_t>(h[3]),
            .read = h[4],
            .scale = std::bit_cast<float>(static_cast<std::int32_t>(h[5]))};
  }
};

/// Returns a message about a step: MessageKind::statistics or MessageKind::copy.
inline collectives::Message message_of_step(MessageKind kind, std::int64_t step) {
  return {.header = {std::int64_t(kind), step}};
}
inline MessageKind kind_of(const collectives::Message& message) {
  return static_cast<MessageKind>(message.header[0]);
}
inline std::int64_t step_of(const collectives::Message& message) {
  return message.header[1];
}

/// Enqueues a copy to new memory for a message's values. Error: out_of_memory.
inline Result<BufferPtr> copy_for_message(Device& device, Stream& stream, const float* values,
                                          std::size_t elements) {
  const auto bytes = elements * sizeof(float);
  TROUPE_TRY(auto buffer, device.allocate(bytes, collectives::message_memory(device)));
  device.copy(stream, buffer->data(), values, bytes);
  return buffer;
}

} // namespace troupe::training
