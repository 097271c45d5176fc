/// Addresses of a bucket's elements in one array of a rank's state.
#pragma once

#include "core/device/device.hpp"
#include "training/state/flat_range.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace troupe::training {

struct BucketMemory {
  FlatRange range = {};    ///< of the flat space; of the statistics, if the array is theirs
  float* device = nullptr; ///< the first `kept` elements; null if none are on the device
  std::size_t kept = 0;
  float* host = nullptr; ///< the other elements, in pinned memory (parallel.offload)

  /// The elements of `part` on the device, then those in the host's memory. Precondition: `range`
  /// contains `part`.
  std::array<std::span<float>, 2> at(const FlatRange& part) const {
    const auto first = part.first - range.first, end = first + part.elements;
    const auto cut = std::clamp(kept, first, end);
    std::array<std::span<float>, 2> both;
    if (first < cut)
      both[0] = {device + first, cut - first};
    if (cut < end)
      both[1] = {host + (cut - kept), end - cut};
    return both;
  }
  /// Only the elements in the host's memory.
  BucketMemory on_host() const {
    return {.range = {range.first + kept, range.elements - kept}, .host = host};
  }
};

/// Returns the device's address of all elements. If some are offloaded, enqueues copies of all to
/// `place` on the device, and returns that.
inline float* on_device(Device& device, Stream& stream, const BucketMemory& memory, float* place) {
  if (memory.kept == memory.range.elements)
    return memory.device;
  float* to = place;
  for (const auto& some : memory.at(memory.range)) {
    if (!some.empty())
      device.copy(stream, to, some.data(), some.size_bytes());
    to += some.size();
  }
  return place;
}

} // namespace troupe::training
