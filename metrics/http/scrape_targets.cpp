#include "metrics/http/scrape_targets.hpp"

#include <nlohmann/json.hpp>

namespace troupe::metrics {

void ScrapeTargets::set(std::vector<ScrapeTarget> targets) {
  const std::lock_guard lock{mutex_};
  targets_ = std::move(targets);
}

std::string ScrapeTargets::json() const {
  auto groups = nlohmann::json::array();
  const std::lock_guard lock{mutex_};
  for (const auto& target : targets_)
    groups.push_back({{"targets", {target.address}}, {"labels", target.labels}});
  return groups.dump() + "\n";
}

} // namespace troupe::metrics
