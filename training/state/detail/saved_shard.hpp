/// The elements of the flat space that a rank saves in a checkpoint: one contiguous range per
/// bucket.
#pragma once

#include "collectives/strategy.hpp"

#include <cstddef>
#include <vector>

namespace troupe::training {

class SavedShard {
public:
  struct Cut {
    std::size_t begin = 0, elements = 0; ///< in the flat space
    std::size_t place = 0;               ///< offset in the saved shard

    std::size_t end() const { return begin + elements; }
  };

  /// The whole flat space, in its order.
  static SavedShard whole(const collectives::FlatPlan& plan);
  /// A shard as a rank holds it: one range of each bucket.
  static SavedShard of_shard(const collectives::FlatPlan& plan, std::size_t shard);
  /// The elements that a rank writes to a sharded checkpoint: its shard, divided among the ranks
  /// that hold the same shard. The ranges of all ranks together cover the flat space.
  static SavedShard of_rank(const collectives::FlatPlan& plan,
                            const collectives::Strategy& strategy, int rank);

  /// The range of a bucket, by the bucket's number.
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
