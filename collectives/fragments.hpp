/// Parts of a model whose changes travel by themselves, where teams train apart (Douillard et al.,
/// "Streaming DiLoCo with Overlapping Communication", 2025). Pure functions: all ranks know them.
#pragma once

#include "collectives/strategy.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::collectives {

/// Neighbouring units, from the first to the last, of about as many parameters each; fewer
/// fragments than asked for where fewer units have any.
std::vector<UnitRange> fragments_of(std::span<const std::size_t> unit_elements, int fragments);

/// The ranges that buckets are made of, cut where a fragment begins. Units without parameters may
/// stay with those of another fragment: of which one a range is, its last unit says.
std::vector<UnitRange> cut_at(std::span<const UnitRange> ranges,
                              std::span<const UnitRange> fragments,
                              std::span<const std::size_t> unit_elements);

/// Whether a fragment's round ends behind this step. All rounds are as long; those of different
/// fragments end one after the other, the last one's at multiples of their length.
bool ends_round(const Strategy& strategy, int fragment, std::int64_t step);

/// The first step from this one on behind which a round of the fragment ends.
std::int64_t next_round(const Strategy& strategy, int fragment, std::int64_t step);

} // namespace troupe::collectives
