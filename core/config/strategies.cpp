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

std::vector<std::string> names_of(Divided least, bool any_policy) {
  std::vector<std::string> names;
  for (const auto& traits : strategies)
    if (traits.divides >= least && (any_policy || traits.policy == StepPolicy::every_step))
      names.emplace_back(traits.name);
  return names;
}

} // namespace

std::vector<std::string> strategy_names(Divided least) {
  return names_of(least, true);
}

std::vector<std::string> synchronous_names(Divided least) {
  return names_of(least, false);
}

} // namespace troupe
