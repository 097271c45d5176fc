/// What ranks that train asynchronously write to each other, beside the collectives
/// (collectives/point_to_point/message.hpp): who owns a shard of the parameters, and who computes
/// with all of them.
#pragma once

#include "collectives/point_to_point/message.hpp"
#include "metrics/step_record.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace troupe::training {

enum class MessageKind : std::int64_t {
  pull,       ///< to an owner: the newest parameters of its shard
  parameters, ///< its answer
  gradients,  ///< to an owner: of one slice, its part of a bucket
  statistics, ///< to all: batch norms' after a step, from who has computed slice 0
  copy        ///< to an owner's buddy: the sum of a step's gradients
};

/// A number of steps that parameters are the work of.
using Version = std::int64_t;

/// Parameters as `version` steps have left them; or as `predicted` more of them would, with what
/// has come of their gradients (Foresight).
struct ParameterVersion {
  Version version = -1; ///< below 0: none
  std::int64_t predicted = 0;
  std::int64_t come = 0; ///< of the predicted steps: gradients, each of a slice and a bucket

  bool operator==(const ParameterVersion&) const = default;
};

using metrics::SliceRead;
using SliceReads = std::vector<SliceRead>;

/// Memory in which values travel: the host can read it.
inline MemoryKind message_memory(const Device& device) {
  return device.info().on_host ? MemoryKind::communication : MemoryKind::pinned;
}

struct Pull {
  ParameterVersion have; ///< what is here of them
  Version wanted = 0;    ///< the step that they are for

  static constexpr auto kind = MessageKind::pull;
  collectives::Message to_message() const {
    return {.header = {std::int64_t(kind), have.version, have.predicted, have.come, wanted}};
  }
  static Pull of(const collectives::Message& message) {
    const auto& h = message.header;
    return {.have = {.version = h[1], .predicted = h[2], .come = h[3]}, .wanted = h[4]};
  }
};

/// Values: the owner's shard of every bucket, in the order of its flat space; none where the reader
/// has these.
struct Parameters {
  ParameterVersion at;

  static constexpr auto kind = MessageKind::parameters;
  collectives::Message to_message() const {
    return {.header = {std::int64_t(kind), at.version, at.predicted, at.come}};
  }
  static Parameters of(const collectives::Message& message) {
    const auto& h = message.header;
    return {{.version = h[1], .predicted = h[2], .come = h[3]}};
  }
};

/// Values: the owner's shard of a bucket.
struct Gradients {
  std::int64_t step = 0;
  int slice = 0;
  std::size_t bucket = 0;
  Version read = 0; ///< of the owner's parameters, with which they were computed
  float scale = 1;  ///< of the loss

  static constexpr auto kind = MessageKind::gradients;
  collectives::Message to_message() const {
    return {.header = {std::int64_t(kind), step, slice, std::int64_t(bucket), read,
                       std::bit_cast<std::int32_t>(scale)}};
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

/// Of a step: Letter::statistics, Letter::copy.
inline collectives::Message message_of_step(MessageKind kind, std::int64_t step) {
  return {.header = {std::int64_t(kind), step}};
}
inline MessageKind kind_of(const collectives::Message& message) {
  return static_cast<MessageKind>(message.header[0]);
}
inline std::int64_t step_of(const collectives::Message& message) {
  return message.header[1];
}

} // namespace troupe::training
