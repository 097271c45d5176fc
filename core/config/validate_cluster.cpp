// Conflicts between the keys of the section cluster, and with metrics.
#include "core/config/detail/check.hpp"

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
void check_chain(ConfigCheck& check, const std::vector<NamedTime>& order) {
  std::vector<std::string> names;
  std::ranges::transform(order, std::back_inserter(names), &NamedTime::name);
  for (std::size_t i = 1; i < order.size(); ++i)
    if (const auto& shorter = order[i - 1], &longer = order[i]; longer.value <= shorter.value)
      check.refuse({"cluster.timeouts." + longer.name, "cluster.timeouts." + shorter.name},
                   fmt::format("{} is not longer than {}, which is {}",
                               format_duration(longer.value), shorter.name,
                               format_duration(shorter.value)),
                   fmt::format("{}", fmt::join(names, " < ")));
}

void check_timeouts(ConfigCheck& check) {
  const auto& t = check.config.cluster.timeouts;
  const NamedTime heartbeat{"heartbeat", t.heartbeat_interval()},
      detection{"detection", t.detection}, quorum{"quorum", t.quorum};
  check_chain(check, {heartbeat, {"handshake", t.handshake_timeout()}});
  check_chain(check, {heartbeat, detection});
  check_chain(check, {detection, {"collective", t.collective}, quorum});
  check_chain(check, {detection, {"rejoin", t.rejoin}, quorum});
  if (t.drain < t.collective)
    check.refuse({"cluster.timeouts.drain", "cluster.timeouts.collective"},
                 fmt::format("{} is less than the collective timeout: the last step may take {}",
                             format_duration(t.drain), format_duration(t.collective)),
                 fmt::format("at least {}", format_duration(t.collective)));
}

void check_nodes(ConfigCheck& check) {
  const auto& cluster = check.config.cluster;
  if (cluster.max_nodes < cluster.min_nodes)
    check.refuse(
        {"cluster.nodes.max", "cluster.nodes"},
        fmt::format("{} is less than min, which is {}", cluster.max_nodes, cluster.min_nodes),
        fmt::format("at least {}", cluster.min_nodes));
  const auto listen = parse_endpoint(cluster.listen);
  if (listen && is_any_address(*listen) && cluster.max_nodes > 1 && !cluster.advertise)
    check.refuse({"cluster.listen", "cluster.nodes"},
                 fmt::format("{} is not an address that another node can connect to", listen->host),
                 "this host's name or address, or cluster.listen.advertise: HOST:PORT");
}

void check_trust(ConfigCheck& check) {
  const auto& cluster = check.config.cluster;
  const auto& tls = cluster.tls;
  const auto listen = parse_endpoint(cluster.listen);
  if (!tls.enabled() && (tls.certificate || tls.key || tls.ca))
    check.refuse({"cluster.tls"},
                 fmt::format("TLS requires {}, which is not set", !tls.certificate ? "certificate"
                                                                  : !tls.key       ? "key"
                                                                                   : "ca"),
                 "certificate, key and ca, or none of them");
  else if (!tls.enabled() && !tls.names.empty())
    check.refuse({"cluster.tls"}, "without certificates there are no names to check",
                 "no names, or set certificate, key and ca");
  else if (listen && !is_loopback(*listen) && !tls.enabled() && !cluster.insecure)
    check.refuse({"cluster.listen", "cluster.insecure"},
                 fmt::format("{} can be reached from other hosts, but there are no certificates: "
                             "any client that connects could stop the job",
                             cluster.listen),
                 "a loopback address; cluster.tls (tools/make-certs makes certificates); "
                 "cluster.insecure: true");
}

} // namespace

void check_cluster(ConfigCheck& check) {
  check_timeouts(check);
  check_nodes(check);
  check_trust(check);
  const auto& metrics = check.config.metrics.listen;
  const auto daemon = parse_endpoint(check.config.cluster.listen), scrape = parse_endpoint(metrics);
  if (daemon && scrape && *daemon == *scrape && daemon->port != 0)
    check.refuse({"metrics.listen", "cluster.listen"},
                 fmt::format("{} is already used by cluster.listen", metrics),
                 "another port, 0 for any free port, or \"off\"");
}

} // namespace troupe
