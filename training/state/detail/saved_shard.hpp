/// Which part of the flat space a rank saves in a checkpoint: neighbouring elements of each bucket.
#pragma once

#include "collectives/strategy.hpp"

#include <cstddef>
#include <vector>

namespace troupe::training {

class SavedShard {
public:
  struct Cut {
    std::size_t begin = 0, elements = 0; ///< in the flat space
    std::size_t place = 0;               ///< in the part

    std::size_t end() const { return begin + elements; }
  };

  /// All of it, in its own order.
  static SavedShard whole(const collectives::FlatPlan& plan);
  /// All that a rank holds of it: one shard of each bucket.
  static SavedShard of_shard(const collectives::FlatPlan& plan, std::size_t shard);
  /// What a rank of a sharded checkpoint writes, of what it holds: its shard, divided among the
  /// replicas that hold the same. Together all ranks' parts are the flat space.
  static SavedShard of_rank(const collectives::FlatPlan& plan,
                            const collectives::Strategy& strategy, int rank);

  /// Of a bucket, by its number.
  const Cut& operator[](std::size_t bucket) const { return cuts_[bucket]; }
  std::size_t elements() const { return elements_; }
  bool is_whole() const { return is_whole_; }

private:
  SavedShard() = default;
  void add(Cut cut);

  std::vector<Cut> cuts_;
  std::size_t elements_ = 0;
  bool is_whole_ = false;
};

} // namespace troupe::training
