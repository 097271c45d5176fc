#include "app/doctor.hpp"
#include "core/config/config.hpp"

#include <fmt/format.h>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace troupe::app {

namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

/// The reason why the address cannot be bound; empty if it can.
std::string bind_problem(const Endpoint& endpoint) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &list);
  if (error != 0)
    return fmt::format("unknown host: {}", gai_strerror(error));
  const std::unique_ptr<addrinfo, FreeAddresses> addresses{list};
  const int handle = socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);
  if (handle < 0)
    return std::strerror(errno);
  // The servers set this, too: a port in TIME_WAIT after a restart counts as free.
  const int yes = 1;
  setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  std::string problem;
  if (bind(handle, list->ai_addr, list->ai_addrlen) != 0 || listen(handle, 1) != 0)
    problem = std::strerror(errno);
  close(handle);
  return problem;
}

Finding port_finding(const std::string& key, const std::string& address) {
  const auto endpoint = parse_endpoint(address);
  if (!endpoint)
    return {"ports", key, address, Finding::State::absent}; // "off"
  const auto problem = bind_problem(*endpoint);
  if (!problem.empty())
    return {"ports", key, fmt::format("{}: {}", address, problem), Finding::State::bad};
  return {"ports", key,
          endpoint->port == 0 ? address + ": takes any free port" : address + ": free"};
}

} // namespace

Findings network_findings(const Config& config) {
  const auto& cluster = config.cluster;
  Findings findings = {port_finding("cluster.listen", cluster.listen),
                       port_finding("metrics.listen", config.metrics.listen)};
  if (auto endpoint = parse_endpoint(cluster.listen); endpoint && cluster.data_port > 0) {
    endpoint->port = static_cast<std::uint16_t>(cluster.data_port);
    findings.push_back(port_finding("cluster.data_port", to_string(*endpoint)));
  }
  return findings;
}

} // namespace troupe::app
