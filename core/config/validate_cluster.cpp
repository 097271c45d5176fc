// Conflicts between the keys of the section cluster, and with metrics.
#include "core/config/config.hpp"
#include "core/config/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace troupe {

namespace {

struct NamedTime {
  std::string name;
  std::chrono::milliseconds value;
};

/// `order` is from the shortest to the longest.
ConfigConflicts validate_chain(const std::vector<NamedTime>& order) {
  ConfigConflicts found;
  std::vector<std::string> names;
  std::ranges::transform(order, std::back_inserter(names), &NamedTime::name);
  for (std::size_t i = 1; i < order.size(); ++i)
    if (const auto& shorter = order[i - 1], &longer = order[i]; longer.value <= shorter.value)
      found.push_back(
          {{"cluster.timeouts." + longer.name, "cluster.timeouts." + shorter.name},
           fmt::format("{} is not longer than {}, which is {}", format_duration(longer.value),
                       shorter.name, format_duration(shorter.value)),
           fmt::format("{}", fmt::join(names, " < "))});
  return found;
}

ConfigConflicts validate_order(const TimeoutsConfig& t) {
  const NamedTime heartbeat{"heartbeat", t.heartbeat_interval()},
      detection{"detection", t.detection}, quorum{"quorum", t.quorum};
  auto found = validate_chain({heartbeat, {"handshake", t.handshake_timeout()}});
  for (auto&& more : {validate_chain({heartbeat, detection}),
                      validate_chain({detection, {"collective", t.collective}, quorum}),
                      validate_chain({detection, {"rejoin", t.rejoin}, quorum})})
    found.insert(found.end(), more.begin(), more.end());
  if (t.drain < t.collective)
    found.push_back(
        {{"cluster.timeouts.drain", "cluster.timeouts.collective"},
         fmt::format("{} is less than the collective timeout: the last step may take {}",
                     format_duration(t.drain), format_duration(t.collective)),
         fmt::format("at least {}", format_duration(t.collective))});
  return found;
}

ConfigConflicts validate_nodes(const ClusterConfig& cluster) {
  ConfigConflicts found;
  if (cluster.max_nodes < cluster.min_nodes)
    found.push_back({{"cluster.max_nodes", "cluster.min_nodes"},
                     fmt::format("{} is less than min_nodes, which is {}", cluster.max_nodes,
                                 cluster.min_nodes),
                     fmt::format("at least {}", cluster.min_nodes)});
  const auto listen = parse_endpoint(cluster.listen);
  if (listen && is_any_address(*listen) && cluster.max_nodes > 1 && !cluster.advertise)
    found.push_back(
        {{"cluster.listen", "cluster.max_nodes"},
         fmt::format("{} is not an address that another node can connect to", listen->host),
         "this host's name or address, or cluster.advertise: HOST:PORT"});
  return found;
}

ConfigConflicts validate_trust(const ClusterConfig& cluster) {
  const auto& tls = cluster.tls;
  if (!tls.enabled() && (tls.certificate || tls.key || tls.ca))
    return {{{"cluster.tls"},
             fmt::format("TLS requires {}, which is not set", !tls.certificate ? "certificate"
                                                              : !tls.key       ? "key"
                                                                               : "ca"),
             "certificate, key and ca, or none of them"}};
  if (!tls.enabled() && !tls.names.empty())
    return {{{"cluster.tls"},
             "without certificates there are no names to check",
             "no names, or set certificate, key and ca"}};
  const auto listen = parse_endpoint(cluster.listen);
  if (listen && !is_loopback(*listen) && !tls.enabled() && !cluster.insecure)
    return {{{"cluster.listen", "cluster.insecure"},
             fmt::format("{} can be reached from other hosts, but there are no certificates: any "
                         "client that connects could stop the job",
                         cluster.listen),
             "a loopback address; cluster.tls (tools/make-certs makes certificates); "
             "cluster.insecure: true"}};
  return {};
}

} // namespace

ConfigConflicts validate(const ClusterConfig& cluster, const MetricsConfig& metrics) {
  auto found = validate_order(cluster.timeouts);
  for (auto&& more : {validate_nodes(cluster), validate_trust(cluster)})
    found.insert(found.end(), more.begin(), more.end());
  const auto daemon = parse_endpoint(cluster.listen), scrape = parse_endpoint(metrics.listen);
  if (daemon && scrape && *daemon == *scrape && daemon->port != 0)
    found.push_back({{"metrics.listen", "cluster.listen"},
                     fmt::format("{} is already used by cluster.listen", metrics.listen),
                     "another port, 0 for any free port, or \"off\""});
  return found;
}

} // namespace troupe
