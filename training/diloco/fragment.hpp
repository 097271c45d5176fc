/// Fragments of the parameters that a rank's optimizer updates: what replica groups exchange.
#pragma once

#include "training/state/model_state.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::training {

/// The rank's chunks of the fragment's buckets, one after another, padded with zeros so that each
/// owner has an equal chunk of the fragment.
struct Fragment {
  struct Part {
    std::size_t bucket;   ///< index in FlatPlan::buckets
    std::size_t place;    ///< offset in the fragment
    std::size_t elements; ///< size of OptimizerPart::chunk
  };

  std::size_t place = 0; ///< offset in arrays of all fragments
  std::size_t chunk = 0; ///< elements of an owner's chunk
  std::size_t elements = 0;
  std::vector<Part> parts;
};

/// Returns the fragments without frozen buckets, which all ranks agree on. A fragment that is all
/// frozen is left out, and later ones are renumbered. All ranks of the same shard get the same
/// fragments.
std::vector<Fragment> fragments_of(const ModelState& state);

/// As above, before a state exists. `is_frozen`: by bucket.
std::vector<Fragment> fragments_of(const collectives::FlatPlan& plan,
                                   const collectives::Strategy& strategy,
                                   std::span<const std::size_t> unit_elements,
                                   const std::vector<bool>& is_frozen);

/// Returns the elements of all fragments, in one array.
std::size_t elements_of(const std::vector<Fragment>& fragments);

/// Returns the elements of the largest fragment.
std::size_t largest(const std::vector<Fragment>& fragments);

} // namespace troupe::training
