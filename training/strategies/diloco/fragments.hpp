/// Fragments: parts of a model whose pseudo-gradients replica groups exchange separately (Douillard
/// et al., "Streaming DiLoCo with Overlapping Communication", 2025). Pure functions: every rank
/// computes the same results.
#pragma once

#include "training/strategy.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::training {

class ModelState;

/// Divides the units, from first to last, into fragments of about equal numbers of parameters.
/// Returns fewer fragments than requested if fewer units have parameters.
std::vector<UnitRange> fragments_of(std::span<const std::size_t> unit_elements, int fragments);

/// Splits the ranges of the buckets at the beginning of each fragment. Units without parameters may
/// stay with units of another fragment: the last unit of a range determines its fragment.
std::vector<UnitRange> cut_at(std::span<const UnitRange> ranges,
                              std::span<const UnitRange> fragments,
                              std::span<const std::size_t> unit_elements);

/// Whether a round of the fragment ends after this step. All rounds have the same length. The
/// rounds of different fragments end one after the other, those of the last fragment at multiples
/// of the length.
bool ends_round(const Strategy& strategy, int fragment, std::int64_t step);

/// Returns the first step, from `step` on, after which a round of the fragment ends.
std::int64_t next_round(const Strategy& strategy, int fragment, std::int64_t step);

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
std::vector<Fragment> fragments_of(const FlatPlan& plan, const Strategy& strategy,
                                   std::span<const std::size_t> unit_elements,
                                   const std::vector<bool>& is_frozen);

/// Returns the elements of all fragments, in one array.
std::size_t elements_of(const std::vector<Fragment>& fragments);

/// Returns the elements of the largest fragment.
std::size_t largest(const std::vector<Fragment>& fragments);

} // namespace troupe::training
