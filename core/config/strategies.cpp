#include "core/config/strategies.hpp"

namespace troupe {

namespace {

consteval bool rows_stand_where_traits_of_looks() {
  for (std::size_t row = 0; row < strategies.size(); ++row)
    if (strategies[row].kind != static_cast<StrategyKind>(row))
      return false;
  return true;
}
static_assert(rows_stand_where_traits_of_looks());

} // namespace

std::vector<std::string> strategy_names(Divided least, std::optional<StepPolicy> policy) {
  std::vector<std::string> names;
  for (const auto& traits : strategies)
    if (traits.divides >= least && traits.policy == policy.value_or(traits.policy))
      names.emplace_back(traits.name);
  return names;
}

} // namespace troupe
