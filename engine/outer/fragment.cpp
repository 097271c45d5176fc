#include "fragment.hpp"

#include "change_codec.hpp"

#include "troupe/collectives/fragments.hpp"

#include <algorithm>

namespace troupe::engine {

std::vector<Fragment> fragments_of(const ModelState& state) {
  const auto& plan = state.plan();
  const auto& strategy = state.strategy();
  const auto units =
      collectives::fragments_of(state.layout().unit_elements, strategy.outer.fragments);
  std::vector<Fragment> fragments(units.size());
  for (std::size_t number = 0; number < plan.buckets.size(); ++number) {
    const auto& bucket = plan.buckets[number];
    if (state.is_frozen(bucket))
      continue;
    const auto which = std::ranges::find_if(
        units, [&](const auto& range) { return bucket.units.last <= range.last; });
    auto& fragment = fragments[static_cast<std::size_t>(which - units.begin())];
    const auto elements = state.piece(bucket).elements;
    fragment.parts.push_back({number, fragment.elements, elements});
    fragment.elements += elements;
  }
  const auto owners = static_cast<std::size_t>(strategy.teams());
  const auto granule = owners * change_granule(strategy.outer.compression);
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

} // namespace troupe::engine
