// The execution of a ProbeOrder by a node.
#include "actors/node/node.hpp"
#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_links = 256;       ///< of an order
constexpr milliseconds longest_probe{60'000}; ///< for a link
constexpr milliseconds time_to_tell{1'000};   ///< to report a failed attempt

/// Answers an empty string if the link can be made.
using dialer_actor = caf::typed_actor<caf::result<std::string>(atom::probe)>;

std::string why_not(const collectives::DataPlane& data_plane, const NodePort& to,
                    const std::string& ticket, milliseconds limit) {
  const auto endpoint = parse_endpoint(to.data);
  if (!endpoint)
    return fmt::format("{} is not HOST:PORT", to.data);
  const auto answered = data_plane.probe(to.node, *endpoint, ticket, limit);
  return answered ? "" : answered.error().message;
}

dialer_actor spawn_dialer(caf::actor_system& system,
                          std::shared_ptr<collectives::DataPlane> data_plane, NodePort to,
                          std::string ticket, milliseconds limit) {
  return system.spawn<caf::detached>(
      [=](dialer_actor::pointer self) -> dialer_actor::behavior_type {
        return {[=](atom::probe) {
          self->quit();
          return why_not(*data_plane, to, ticket, limit);
        }};
      });
}

/// The links of an order that are being tried.
struct Probing {
  caf::typed_response_promise<std::vector<BrokenLink>> promise;
  std::size_t open;
  std::vector<BrokenLink> broken = {};

  void tried(const std::string& from, const std::string& to, std::string why) {
    if (!why.empty())
      broken.push_back({from, to, std::move(why)});
    if (--open == 0)
      promise.deliver(std::move(broken));
  }
};

} // namespace

/// Tries all links of the order at once, each on its own thread, and meanwhile answers those that
/// others try with its ticket. Only accepts orders from the MEMBERSHIP that it has asked, so that
/// no stranger makes this node dial anywhere.
caf::result<std::vector<BrokenLink>> NodeState::probe(const ProbeOrder& order) {
  const auto& data_plane = node_.setup.data_plane;
  if (!data_plane || !node_.membership || node_.self->current_sender() != node_.membership)
    return caf::make_error(caf::sec::runtime_error,
                           "this daemon accepts probe orders only from the leader of its job");
  if (order.to.size() > most_links)
    return caf::make_error(caf::sec::invalid_argument, "the probe order contains too many links");
  const auto& name = node_.identity.address;
  const auto limit = std::clamp(milliseconds{order.limit_ms}, milliseconds{0}, longest_probe);
  data_plane->answer_probes(order.ticket, name, limit);
  if (order.to.empty())
    return std::vector<BrokenLink>{};
  const auto probing = std::make_shared<Probing>(
      Probing{node_.self->make_response_promise<std::vector<BrokenLink>>(), order.to.size()});
  for (const auto& to : order.to) {
    const auto dialer = spawn_dialer(node_.self->system(), data_plane, to, order.ticket, limit);
    // The lookup of a name may take longer than the limit.
    node_.self->request(dialer, limit + time_to_tell, atom::probe_v)
        .then([probing, name,
               node = to.node](std::string& why) { probing->tried(name, node, std::move(why)); },
              [probing, name, to, limit](const caf::error&) {
                probing->tried(
                    name, to.node,
                    fmt::format("{}: no connection within {}", to.data, format_duration(limit)));
              });
  }
  return probing->promise;
}

} // namespace troupe::actors
