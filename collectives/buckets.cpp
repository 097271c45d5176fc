#include "buckets.hpp"

namespace troupe::collectives {

std::vector<Bucket> plan_buckets(std::span<const std::size_t> unit_elements,
                                 std::size_t bucket_bytes) {
  std::size_t end = 0;
  for (const auto elements : unit_elements)
    end += elements;

  std::vector<Bucket> buckets;
  bool open = false;
  for (auto unit = static_cast<UnitId>(unit_elements.size()) - 1; unit >= 0; --unit) {
    const auto elements = unit_elements[static_cast<std::size_t>(unit)];
    end -= elements;
    if (!open)
      buckets.push_back({unit, unit, end, 0});
    auto& bucket = buckets.back();
    bucket.first = unit;
    bucket.offset = end;
    bucket.elements += elements;
    open = bucket.elements * sizeof(float) < bucket_bytes;
  }
  // Units at the front that have no parameters would make an empty collective.
  if (buckets.size() > 1 && buckets.back().elements == 0) {
    buckets[buckets.size() - 2].first = buckets.back().first;
    buckets.pop_back();
  }
  return buckets;
}

} // namespace troupe::collectives
