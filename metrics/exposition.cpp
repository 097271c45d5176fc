#include "metrics/exposition.hpp"

#include "core/fail.hpp"

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

Result<std::unique_ptr<Exposition>> Exposition::open(std::string_view listen, const RunInfo& run,
                                                     bool leads, const EndpointSecurity& security) {
  std::unique_ptr<Exposition> all{new Exposition{run, leads}};
  if (listen == "off")
    return all;
  TROUPE_TRY(all->endpoint_,
             HttpEndpoint::start(listen,
                                 {.metrics = [all = all.get()] { return all->registry_.text(); },
                                  .readiness = [all = all.get()] { return all->readiness(); },
                                  .targets = [all = all.get()] { return all->targets_.json(); },
                                  .page = all->live_.page()},
                                 security));
  return all;
}

Exposition::Exposition(const RunInfo& run, bool leads) : registry_{run, leads}, live_{run} {
  registry_.set_phase(phase_);
}

std::optional<Endpoint> Exposition::listens_at() const {
  return endpoint_ ? std::optional{endpoint_->endpoint()} : std::nullopt;
}

void Exposition::enter(JobPhase phase) {
  const std::lock_guard lock{mutex_};
  if (has_ended(phase_))
    return;
  phase_ = phase;
  registry_.set_phase(phase);
  live_.enter(phase);
  if (has_ended(phase))
    ended_ = Clock::now();
}

void Exposition::fail(Errc kind) {
  {
    const std::lock_guard lock{mutex_};
    if (!ended_)
      registry_.record_failure(to_string(kind));
  }
  enter(JobPhase::failed);
}

bool Exposition::is_awaited() const {
  const auto scraped = endpoint_ ? endpoint_->last_scrape() : std::nullopt;
  const std::lock_guard lock{mutex_};
  return scraped && ended_ && *scraped < *ended_;
}

Readiness Exposition::readiness() const {
  const std::lock_guard lock{mutex_};
  return {is_at_work(phase_), std::string{to_string(phase_)}};
}

} // namespace troupe::metrics
