#include "actors/membership/probes.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::actors {

namespace {

constexpr std::chrono::seconds time_to_answer{3}; ///< in addition to the limit of a link

std::vector<BrokenLink> all_broken(const std::string& from, const ProbeOrder& order) {
  std::vector<BrokenLink> broken;
  for (const auto& to : order.to)
    broken.push_back({from, to.node, std::string{no_answer}});
  if (broken.empty())
    broken.push_back({from, from, std::string{no_answer}});
  return broken;
}

} // namespace

void Probes::order(Probe& probe, const LinkEnd& node, ProbeOrder order,
                   std::chrono::milliseconds limit) {
  probe.open[node.node] = all_broken(node.port.node, order);
  actions_.add(action::Probe{node.node, probe.outcome.probe, std::move(order), limit});
}

Result<std::int64_t> Probes::of_entrant(const LinkEnd& node, const std::vector<LinkEnd>& others) {
  TROUPE_TRY(const auto ticket, job_.rules.make_secret());
  auto& probe = begin();
  const auto limit = job_.rules.probe;
  ProbeOrder of_node{.ticket = ticket, .limit_ms = limit.count()};
  for (const auto& other : others) {
    of_node.to.push_back(other.port);
    order(probe, other, {.ticket = ticket, .to = {node.port}, .limit_ms = limit.count()},
          limit + time_to_answer);
  }
  order(probe, node, of_node, limit + time_to_answer);
  return probe.outcome.probe;
}

std::int64_t Probes::of_all(const std::vector<LinkEnd>& nodes) {
  auto& probe = begin();
  const auto ticket = job_.rules.make_secret();
  for (const auto& node : ticket ? nodes : std::vector<LinkEnd>{}) {
    ProbeOrder links{.ticket = *ticket, .limit_ms = job_.rules.probe.count()};
    for (const auto& other : nodes)
      if (other.node != node.node)
        links.to.push_back(other.port);
    order(probe, node, std::move(links), job_.rules.probe + job_.rules.timeouts.detection);
  }
  return probe.outcome.probe;
}

std::int64_t Probes::of_answer(const LinkEnd& node) {
  auto& probe = begin();
  order(probe, node, {}, job_.rules.timeouts.detection);
  return probe.outcome.probe;
}

Probes::Probe& Probes::begin() {
  auto& probe = probes_[++last_];
  probe.outcome.probe = last_;
  return probe;
}

void Probes::note(std::int64_t probe, NodeId node,
                  const std::optional<std::vector<BrokenLink>>& broken) {
  const auto found = probes_.find(probe);
  if (found == probes_.end())
    return;
  auto& [open, outcome] = found->second;
  const auto links = open.find(node);
  if (links == open.end())
    return;
  auto& to = broken ? outcome.broken : outcome.silent;
  std::ranges::copy(broken ? *broken : links->second, std::back_inserter(to));
  open.erase(links);
}

bool Probes::has_finished() const {
  return std::ranges::any_of(probes_, [](const auto& named) { return named.second.open.empty(); });
}

std::optional<Probes::Outcome> Probes::take_finished() {
  const auto found =
      std::ranges::find_if(probes_, [](const auto& named) { return named.second.open.empty(); });
  if (found == probes_.end())
    return std::nullopt;
  auto outcome = std::move(found->second.outcome);
  probes_.erase(found);
  return outcome;
}

} // namespace troupe::actors
