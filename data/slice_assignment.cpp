#include "data/slice_assignment.hpp"

#include <algorithm>

namespace troupe::data {

namespace {

/// Gap in pass numbers between two slice assignments, so that a batch that was filled ahead for the
/// old one is never taken for one of the new one.
constexpr std::int64_t passes_between = std::int64_t{1} << 20;

std::vector<int> even_counts(int slices, int world_size) {
  std::vector<int> counts;
  counts.reserve(static_cast<std::size_t>(world_size));
  for (std::int64_t rank = 0; rank < world_size; ++rank)
    counts.push_back(
        static_cast<int>(slices * (rank + 1) / world_size - slices * rank / world_size));
  return counts;
}

} // namespace

SliceAssignment::SliceAssignment(int slices, int world_size)
    : SliceAssignment{even_counts(slices, world_size)} {}

SliceAssignment::SliceAssignment(std::span<const int> counts, std::int64_t first_step,
                                 std::int64_t first_pass)
    : passes_{std::ranges::max(counts)}, first_step_{first_step}, first_pass_{first_pass} {
  for (const int count : counts)
    firsts_.push_back(firsts_.back() + count);
}

SliceAssignment SliceAssignment::on_demand(int slices, int world_size) {
  SliceAssignment slice_assignment{slices, world_size};
  slice_assignment.passes_ = slices;
  slice_assignment.on_demand_ = true;
  return slice_assignment;
}

SliceAssignment SliceAssignment::followed_by(std::span<const int> counts, std::int64_t step) const {
  return SliceAssignment{counts, step, pass_of(step) + passes_between};
}

bool SliceAssignment::can_be_counts(std::span<const int> counts) {
  return !counts.empty() && std::ranges::min(counts) >= 0 && std::ranges::max(counts) > 0;
}

std::vector<int> SliceAssignment::counts() const {
  std::vector<int> all(firsts_.size() - 1);
  for (int rank = 0; rank < world_size(); ++rank)
    all[static_cast<std::size_t>(rank)] = slices_of(rank);
  return all;
}

bool SliceAssignment::is_even() const {
  return slices() == std::int64_t{passes_} * world_size();
}

} // namespace troupe::data
