#include "training/diloco/fragment.hpp"

#include "collectives/fragments.hpp"
#include "training/diloco/pseudo_gradient_codec.hpp"

#include <algorithm>

namespace troupe::training {

std::vector<Fragment> fragments_of(const ModelState& state) {
  std::vector<bool> is_frozen;
  for (const auto& bucket : state.layout().plan().buckets)
    is_frozen.push_back(state.layout().is_frozen(bucket));
  return fragments_of(state.layout().plan(), state.layout().strategy(),
                      state.layout().storage().unit_elements, is_frozen);
}

std::vector<Fragment> fragments_of(const collectives::FlatPlan& plan,
                                   const collectives::Strategy& strategy,
                                   std::span<const std::size_t> unit_elements,
                                   const std::vector<bool>& is_frozen) {
  const auto units = collectives::fragments_of(unit_elements, strategy.outer.fragments);
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
  const auto granule = owners * pseudo_gradient_granule(strategy.outer.compression);
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
