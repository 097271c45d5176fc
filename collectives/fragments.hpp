/// Fragments: parts of a model whose pseudo-gradients replica groups exchange separately (Douillard
/// et al., "Streaming DiLoCo with Overlapping Communication", 2025). Pure functions: every rank
/// computes the same results.
#pragma once

#include "collectives/strategy.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::collectives {

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

} // namespace troupe::collectives
