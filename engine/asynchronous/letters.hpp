/// What ranks that train asynchronously write to each other, beside the collectives
/// (collectives/post/mail.hpp): who owns a shard of the parameters, and who computes with all of
/// them.
#pragma once

#include "collectives/post/mail.hpp"
#include "metrics/step_record.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace troupe::engine {

enum class Letter : std::int64_t {
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
struct Point {
  Version version = -1; ///< below 0: none
  std::int64_t predicted = 0;
  std::int64_t come = 0; ///< of the predicted steps: gradients, each of a slice and a bucket

  bool operator==(const Point&) const = default;
};

using metrics::SliceRead;
using SliceReads = std::vector<SliceRead>;

/// Memory in which values travel: the host can read it.
inline MemoryKind mail_memory(const Device& device) {
  return device.info().on_host ? MemoryKind::communication : MemoryKind::pinned;
}

struct Pull {
  Point have;         ///< what is here of them
  Version wanted = 0; ///< the step that they are for

  static constexpr auto kind = Letter::pull;
  collectives::Mail to_mail() const {
    return {.heading = {std::int64_t(kind), have.version, have.predicted, have.come, wanted}};
  }
  static Pull of(const collectives::Mail& mail) {
    const auto& h = mail.heading;
    return {.have = {.version = h[1], .predicted = h[2], .come = h[3]}, .wanted = h[4]};
  }
};

/// Values: the owner's shard of every bucket, in the order of its flat space; none where the reader
/// has these.
struct Parameters {
  Point at;

  static constexpr auto kind = Letter::parameters;
  collectives::Mail to_mail() const {
    return {.heading = {std::int64_t(kind), at.version, at.predicted, at.come}};
  }
  static Parameters of(const collectives::Mail& mail) {
    const auto& h = mail.heading;
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

  static constexpr auto kind = Letter::gradients;
  collectives::Mail to_mail() const {
    return {.heading = {std::int64_t(kind), step, slice, std::int64_t(bucket), read,
                        std::bit_cast<std::int32_t>(scale)}};
  }
  static Gradients of(const collectives::Mail& mail) {
    const auto& h = mail.heading;
    return {.step = h[1],
            .slice = static_cast<int>(h[2]),
            .bucket = static_cast<std::size_t>(h[3]),
            .read = h[4],
            .scale = std::bit_cast<float>(static_cast<std::int32_t>(h[5]))};
  }
};

/// Of a step: Letter::statistics, Letter::copy.
inline collectives::Mail mail_of_step(Letter kind, std::int64_t step) {
  return {.heading = {std::int64_t(kind), step}};
}
inline Letter kind_of(const collectives::Mail& mail) {
  return static_cast<Letter>(mail.heading[0]);
}
inline std::int64_t step_of(const collectives::Mail& mail) {
  return mail.heading[1];
}

} // namespace troupe::engine
