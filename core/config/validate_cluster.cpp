// Conflicts between the keys of the section cluster, and with metrics.
#include "config.hpp"
#include "validate.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace troupe {

namespace {

ConfigConflicts validate_order(const TimeoutsConfig& t) {
  struct Named {
    std::string name;
    std::chrono::milliseconds value;
  };
  const std::array<Named, 4> order = {{{"heartbeat", t.heartbeat},
                                       {"detection", t.detection},
                                       {"collective", t.collective},
                                       {"quorum", t.quorum}}};
  ConfigConflicts found;
  if (t.handshake <= t.heartbeat)
    found.push_back({{"cluster.timeouts.handshake", "cluster.timeouts.heartbeat"},
                     fmt::format("{} is not longer than heartbeat, which is {}",
                                 format_duration(t.handshake), format_duration(t.heartbeat)),
                     "heartbeat < handshake"});
  for (std::size_t i = 1; i < order.size(); ++i)
    if (const auto& shorter = order[i - 1], &longer = order[i]; longer.value <= shorter.value)
      found.push_back(
          {{"cluster.timeouts." + longer.name, "cluster.timeouts." + shorter.name},
           fmt::format("{} is not longer than {}, which is {}", format_duration(longer.value),
                       shorter.name, format_duration(shorter.value)),
           "heartbeat < detection < collective < quorum"});
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
    found.push_back({{"cluster.listen", "cluster.max_nodes"},
                     fmt::format("{} is no address that another node can connect to", listen->host),
                     "this host's name or address, or cluster.advertise: HOST:PORT"});
  return found;
}

ConfigConflicts validate_trust(const ClusterConfig& cluster) {
  const auto& tls = cluster.tls;
  if (!tls.enabled() && (tls.certificate || tls.key || tls.ca))
    return {{{"cluster.tls.certificate", "cluster.tls.key", "cluster.tls.ca"},
             fmt::format("without {} there is no TLS", !tls.certificate ? "certificate"
                                                       : !tls.key       ? "key"
                                                                        : "ca"),
             "certificate, key and ca, or none of them"}};
  const auto listen = parse_endpoint(cluster.listen);
  if (listen && !is_loopback(*listen) && !tls.enabled() && !cluster.insecure)
    return {{{"cluster.listen", "cluster.insecure"},
             fmt::format("{} can be reached from other hosts, and there are no certificates: "
                         "whoever connects could stop the job",
                         cluster.listen),
             "an address on loopback; cluster.tls (tools/make-certs makes certificates); "
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
                     fmt::format("{} is cluster.listen already", metrics.listen),
                     "another port, 0 for a free one, or \"off\""});
  return found;
}

} // namespace troupe
