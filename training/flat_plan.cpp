#include "training/flat_plan.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::training {

namespace {

/// Takes units from the last to the first; each opens a range or joins the open one.
class Wrapper {
public:
  explicit Wrapper(std::span<const std::size_t> unit_elements) : unit_elements_{unit_elements} {}

  void add(UnitId unit, bool joins) {
    if (!joins || ranges_.empty()) {
      ranges_.push_back({unit, unit});
      elements_ = 0;
    }
    ranges_.back().first = unit;
    elements_ += unit_elements_[static_cast<std::size_t>(unit)];
  }
  /// Elements of the open range.
  std::size_t elements() const { return elements_; }

  std::vector<UnitRange> take() {
    // Units without parameters at the front would make an empty collective.
    if (ranges_.size() > 1 && elements_ == 0) {
      ranges_[ranges_.size() - 2].first = ranges_.back().first;
      ranges_.pop_back();
    }
    return std::move(ranges_);
  }

private:
  std::span<const std::size_t> unit_elements_;
  std::vector<UnitRange> ranges_;
  std::size_t elements_ = 0;
};

/// Index of the first name that the unit is under, or names.size().
std::size_t name_above(const std::string& unit, std::span<const std::string> names) {
  const auto above = [&unit](const std::string& name) {
    return unit == name || unit.starts_with(name + ".");
  };
  return static_cast<std::size_t>(std::ranges::find_if(names, above) - names.begin());
}

} // namespace

std::vector<UnitRange> wrap_by_size(std::span<const std::size_t> unit_elements, std::size_t bytes) {
  Wrapper wrapper{unit_elements};
  for (auto unit = static_cast<UnitId>(unit_elements.size()) - 1; unit >= 0; --unit)
    wrapper.add(unit, wrapper.elements() * sizeof(float) < bytes);
  return wrapper.take();
}

std::vector<UnitRange> wrap_by_name(std::span<const std::size_t> unit_elements,
                                    std::span<const std::string> unit_names,
                                    std::span<const std::string> names) {
  Wrapper wrapper{unit_elements};
  std::size_t behind = names.size();
  for (auto unit = static_cast<UnitId>(unit_elements.size()) - 1; unit >= 0; --unit) {
    const auto name = name_above(unit_names[static_cast<std::size_t>(unit)], names);
    wrapper.add(unit, name == behind || wrapper.elements() == 0);
    behind = name;
  }
  return wrapper.take();
}

FlatPlan plan_flat(std::span<const UnitRange> ranges, std::span<const std::size_t> unit_elements,
                   std::size_t shards) {
  FlatPlan plan{.unit_offsets = std::vector<std::size_t>(unit_elements.size()),
                .bucket_of = std::vector<std::size_t>(unit_elements.size()),
                .shards = shards};
  const std::size_t granule = shards == 1 ? 1 : shards * shard_alignment;
  plan.buckets.resize(ranges.size());
  for (std::size_t i = ranges.size(); i-- > 0;) {
    auto& bucket = plan.buckets[i];
    bucket = {.units = ranges[i], .offset = plan.elements};
    for (auto unit = static_cast<std::size_t>(ranges[i].first);
         unit <= static_cast<std::size_t>(ranges[i].last); ++unit) {
      plan.unit_offsets[unit] = bucket.offset + bucket.elements;
      plan.bucket_of[unit] = i;
      bucket.elements += unit_elements[unit];
    }
    bucket.padding = (granule - bucket.elements % granule) % granule;
    bucket.elements += bucket.padding;
    plan.elements += bucket.elements;
  }
  return plan;
}

namespace {

/// Places every second bucket at the bottom and the others at the top. Needs as much memory as the
/// largest two neighbours, and no more.
WindowPlan plan_pairs(std::span<const Bucket> buckets) {
  WindowPlan plan{.offsets = std::vector<std::size_t>(buckets.size())};
  for (std::size_t i = 0; i < buckets.size(); ++i)
    plan.elements =
        std::max(plan.elements, buckets[i].elements + (i > 0 ? buckets[i - 1].elements : 0));
  for (std::size_t i = 1; i < buckets.size(); i += 2)
    plan.offsets[i] = plan.elements - buckets[i].elements;
  return plan;
}

/// Places buckets from the largest to the smallest, each at the lowest gap between those that are
/// in use at the same time.
WindowPlan plan_gaps(std::span<const Bucket> buckets, std::size_t alive) {
  std::vector<std::size_t> order(buckets.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return buckets[i].elements; });
  WindowPlan plan{.offsets = std::vector<std::size_t>(buckets.size())};
  std::vector<std::size_t> placed;
  for (const auto i : order) {
    std::vector<std::size_t> beside;
    std::ranges::copy_if(placed, std::back_inserter(beside), [&](std::size_t other) {
      return std::max(i, other) - std::min(i, other) < alive;
    });
    std::ranges::sort(beside, {}, [&](std::size_t other) { return plan.offsets[other]; });
    std::size_t at = 0;
    for (const auto other : beside)
      if (plan.offsets[other] < at + buckets[i].elements)
        at = std::max(at, plan.offsets[other] + buckets[other].elements);
    plan.offsets[i] = at;
    plan.elements = std::max(plan.elements, at + buckets[i].elements);
    placed.push_back(i);
  }
  return plan;
}

} // namespace

WindowPlan plan_window(std::span<const Bucket> buckets, std::size_t alive) {
  return alive == 2 ? plan_pairs(buckets) : plan_gaps(buckets, alive);
}

} // namespace troupe::training
