#include "data/slice_assignment.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::data {

namespace {

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

SliceAssignment::SliceAssignment(std::span<const int> counts) : passes_{std::ranges::max(counts)} {
  for (const int count : counts)
    firsts_.push_back(firsts_.back() + count);
}

SliceAssignment SliceAssignment::on_demand(int slices, int world_size) {
  SliceAssignment slice_assignment{slices, world_size};
  slice_assignment.passes_ = slices;
  slice_assignment.on_demand_ = true;
  return slice_assignment;
}

SliceAssignment SliceAssignment::followed_by(std::span<const int> counts, std::int64_t step,
                                             std::int64_t pass) const {
  SliceAssignment next{counts};
  next.first_step_ = step;
  next.first_pass_ = pass;
  return next;
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

std::vector<int> balanced_by_speed(int slices, std::span<const double> seconds, int least) {
  std::vector<int> counts(seconds.size(), least);
  counts[0] = 1;
  for (int slice = std::accumulate(counts.begin(), counts.end(), 0); slice < slices; ++slice) {
    const auto done = [&](std::size_t rank) { return (counts[rank] + 1) * seconds[rank]; };
    std::size_t first = 0;
    for (std::size_t rank = 1; rank < seconds.size(); ++rank)
      if (done(rank) < done(first))
        first = rank;
    ++counts[first];
  }
  return counts;
}

} // namespace troupe::data
