/// Gradients as their receivers got them, recorded with metrics.reads.
#pragma once

#include "metrics/records/field.hpp"

#include <cstdint>
#include <tuple>
#include <vector>

namespace troupe::metrics {

/// One slice as received by a parameter server shard: its gradients came in `parts` buckets,
/// computed with parameter version `read` (the number of steps applied to the parameters).
struct SliceRead {
  std::int32_t slice = 0;
  std::int64_t read = 0;
  std::int32_t parts = 0;
};

template <>
inline constexpr bool is_written_as_list<SliceRead> = true;
template <>
inline constexpr auto fields_of<SliceRead> =
    std::tuple{field("slice", &SliceRead::slice), field("version", &SliceRead::read),
               field("parts", &SliceRead::parts)};

/// With DiLoCo: the replica groups whose pseudo-gradients of a fragment its owner has summed, for
/// the round that ended after `step`. With `is_synchronized`, all replica groups synchronized
/// after that step.
struct RoundTaken {
  struct Change {
    std::int32_t replica_group = 0;
    std::int64_t step = 0; ///< after which its round ended
  };
  std::int32_t owner = 0, fragment = 0;
  std::int64_t step = 0;
  bool is_synchronized = false;
  std::vector<Change> changes = {};
};

template <>
inline constexpr bool is_written_as_list<RoundTaken::Change> = true;
template <>
inline constexpr auto fields_of<RoundTaken::Change> =
    std::tuple{field("replica_group", &RoundTaken::Change::replica_group),
               field("step", &RoundTaken::Change::step)};

template <>
inline constexpr bool is_written_as_list<RoundTaken> = true;
template <>
inline constexpr auto fields_of<RoundTaken> =
    std::tuple{field("owner", &RoundTaken::owner), field("fragment", &RoundTaken::fragment),
               field("step", &RoundTaken::step),
               field("is_synchronized", &RoundTaken::is_synchronized),
               field("changes", &RoundTaken::changes)};

} // namespace troupe::metrics
