#include "training/strategies/diloco/fragments.hpp"

#include "training/state/model_state.hpp"
#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::training {

namespace {

/// Steps from the start of the common round to the end of the fragment's round.
std::int64_t round_offset(const Strategy& strategy, int fragment) {
  const auto steps = strategy.rounds.steps;
  return (fragment + 1) * steps / strategy.diloco.fragments % steps;
}

} // namespace

std::vector<UnitRange> fragments_of(std::span<const std::size_t> unit_elements, int fragments) {
  const auto all = std::accumulate(unit_elements.begin(), unit_elements.end(), std::size_t{0});
  auto left = std::ranges::count_if(unit_elements, [](auto elements) { return elements > 0; });
  const auto most = std::max<std::int64_t>(left, 1);
  const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(fragments, 1, most));
  std::vector<UnitRange> found = {{0, 0}};
  std::size_t before = 0; // elements of earlier units
  for (UnitId unit = 0; unit < std::ssize(unit_elements); ++unit) {
    const auto elements = unit_elements[static_cast<std::size_t>(unit)];
    const bool is_full = before * wanted >= found.size() * all;
    const bool others_need_all = left == static_cast<std::int64_t>(wanted - found.size());
    if (elements > 0 && before > 0 && found.size() < wanted && (is_full || others_need_all))
      found.push_back({unit, unit});
    found.back().last = unit;
    before += elements;
    left -= elements > 0 ? 1 : 0;
  }
  return found;
}

std::vector<UnitRange> cut_at(std::span<const UnitRange> ranges,
                              std::span<const UnitRange> fragments,
                              std::span<const std::size_t> unit_elements) {
  const auto is_empty = [&](UnitId first, UnitId end) {
    const auto units = unit_elements.subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(end - first));
    return std::ranges::all_of(units, [](auto elements) { return elements == 0; });
  };
  std::vector<UnitRange> cut;
  for (auto range : ranges) { // they descend
    for (auto fragment = fragments.rbegin(); fragment != fragments.rend(); ++fragment) {
      const auto first = fragment->first;
      if (first <= range.first || first > range.last || is_empty(range.first, first))
        continue;
      cut.push_back({first, range.last});
      range.last = first - 1;
    }
    cut.push_back(range);
  }
  return cut;
}

bool ends_round(const Strategy& strategy, int fragment, std::int64_t step) {
  return (step + 1) % strategy.rounds.steps == round_offset(strategy, fragment);
}

std::int64_t next_round(const Strategy& strategy, int fragment, std::int64_t step) {
  const auto steps = strategy.rounds.steps;
  const auto into = (step + 1 - round_offset(strategy, fragment) + steps) % steps;
  return into == 0 ? step : step + steps - into;
}

std::vector<Fragment> fragments_of(const ModelState& state) {
  const auto& layout = state.layout();
  return fragments_of(layout.plan(), layout.strategy(), layout.storage().unit_elements,
                      layout.frozen_buckets());
}

std::vector<Fragment> fragments_of(const FlatPlan& plan, const Strategy& strategy,
                                   std::span<const std::size_t> unit_elements,
                                   const std::vector<bool>& is_frozen) {
  const auto units = fragments_of(unit_elements, static_cast<int>(strategy.diloco.fragments));
  std::vector<Fragment> fragments(units.size());
  for (std::size_t number = 0; number < plan.buckets.size(); ++number) {
    const auto& bucket = plan.buckets[number];
    if (is_frozen[number])
      continue;
    const auto which = std::ranges::find_if(
        units, [&](const auto& range) { return bucket.units.last <= range.last; });
    auto& fragment = fragments[static_cast<std::size_t>(which - units.begin())];
    const auto elements =
        strategy.divides_optimizer ? plan.shard_elements(bucket) : bucket.elements;
    fragment.parts.push_back({number, fragment.elements, elements});
    fragment.elements += elements;
  }
  std::erase_if(fragments, [](const Fragment& fragment) { return fragment.parts.empty(); });
  const auto owners = static_cast<std::size_t>(strategy.replica_groups());
  const auto granule = owners * pseudo_gradient_granule(strategy.diloco.compress);
  std::size_t place = 0;
  for (auto& fragment : fragments) {
    fragment.place = place;
    fragment.elements = (fragment.elements + granule - 1) / granule * granule;
    fragment.chunk = fragment.elements / owners;
    place += fragment.elements;
  }
  return fragments;
}

std::size_t elements_of(const std::vector<Fragment>& fragments) {
  return fragments.back().place + fragments.back().elements;
}

std::size_t largest(const std::vector<Fragment>& fragments) {
  return std::ranges::max(fragments, {}, &Fragment::elements).elements;
}

} // namespace troupe::training
