/// Fragments of what a rank's optimizer works on, as they travel between teams.
#pragma once

#include "training/state/model_state.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::training {

/// The rank's pieces of the fragment's buckets, one behind the other, and zeros behind them: as
/// many elements in each owner's chunk.
struct Fragment {
  struct Part {
    std::size_t bucket;   ///< FlatPlan::buckets
    std::size_t place;    ///< in the fragment
    std::size_t elements; ///< ModelState::piece
  };

  std::size_t place = 0; ///< in arrays of all fragments
  std::size_t chunk = 0; ///< elements
  std::size_t elements = 0;
  std::vector<Part> parts;
};

/// Without what is frozen, which all ranks agree on: of a fragment that is all frozen nothing is
/// left, and the next has its number. All ranks of the same shard have the same.
std::vector<Fragment> fragments_of(const ModelState& state);

/// The same before there is a state. `is_frozen`: by bucket.
std::vector<Fragment> fragments_of(const collectives::FlatPlan& plan,
                                   const collectives::Strategy& strategy,
                                   std::span<const std::size_t> unit_elements,
                                   const std::vector<bool>& is_frozen);

/// Elements of all, in one array.
std::size_t elements_of(const std::vector<Fragment>& fragments);

/// Of the largest one.
std::size_t largest(const std::vector<Fragment>& fragments);

} // namespace troupe::training
