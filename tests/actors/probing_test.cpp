// Tests NODEs of one process that probe the links between their data planes, as if each had a
// separate host.
#include "actors/node/node.hpp"
#include "core/net/socket.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <map>
#include <string>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

class Nodes {
public:
  explicit Nodes(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      auto plane = collectives::DataPlane::open({.listen = {"127.0.0.1", 0}, .handshake = 10s});
      REQUIRE(plane);
      const auto node = system_.spawn<node_actor::stateful_impl<NodeState>>(
          NodeSetup{.stopped = [] {}, .data_plane = *plane});
      caf::anon_send(node, atom::vote_v, training::Voter{name, name}, consensus_actor{});
      nodes_[name] = node;
      ports[name] = {name, to_string(Endpoint{"127.0.0.1", (*plane)->port()})};
    }
  }
  ~Nodes() {
    for (const auto& [name, node] : nodes_)
      caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Probes from all nodes at the same time; `orders`: the ports that each node probes.
  std::vector<BrokenLink> probe(const std::map<std::string, std::vector<NodePort>>& orders,
                                std::chrono::milliseconds limit,
                                const std::string& ticket = "a ticket") {
    caf::scoped_actor self{system_};
    for (const auto& [name, order] : orders) // makes this actor their MEMBERSHIP
      caf::anon_send(nodes_.at(name), atom::join_v,
                     caf::actor_cast<membership_actor>(caf::actor{self}), name, NodeInfo{});
    using Response =
        decltype(self->request(node_actor{}, caf::infinite, atom::probe_v, ProbeOrder{}));
    std::vector<Response> responses;
    for (const auto& [name, to] : orders)
      responses.push_back(self->request(nodes_.at(name), caf::infinite, atom::probe_v,
                                        ProbeOrder{ticket, to, limit.count()}));
    std::vector<BrokenLink> all;
    for (auto& response : responses)
      response.receive(
          [&](const std::vector<BrokenLink>& broken) {
            all.insert(all.end(), broken.begin(), broken.end());
          },
          [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return all;
  }

  /// Whether a node obeys an order from an actor that is not its MEMBERSHIP.
  bool obeys_stranger(const std::string& name) {
    bool obeys = false;
    caf::scoped_actor self{system_};
    self->request(nodes_.at(name), caf::infinite, atom::probe_v, ProbeOrder{})
        .receive([&](const std::vector<BrokenLink>&) { obeys = true; }, [](const caf::error&) {});
    return obeys;
  }

  std::map<std::string, NodePort> ports;

private:
  caf::actor_system_config settings_;
  caf::actor_system system_{settings_};
  std::map<std::string, node_actor> nodes_;
};

} // namespace

TEST_CASE("nodes that can connect to each other report no broken link") {
  Nodes nodes{{"a", "b", "c"}};
  auto& ports = nodes.ports;
  CHECK(nodes
            .probe({{"a", {ports["b"], ports["c"]}},
                    {"b", {ports["a"], ports["c"]}},
                    {"c", {ports["a"], ports["b"]}}},
                   10s)
            .empty());
}

TEST_CASE("links that cannot be made are named with their direction") {
  Nodes nodes{{"a", "b", "c"}};
  auto& ports = nodes.ports;
  const auto silent = net::listen_on({"127.0.0.1", 0}).value();
  const NodePort takes_c_for_b{"b", ports["c"].data};
  const NodePort is_silent{"c", to_string(Endpoint{"127.0.0.1", silent.port})};
  const auto broken = nodes.probe(
      {{"a", {takes_c_for_b, ports["c"]}}, {"b", {ports["a"], is_silent}}, {"c", {ports["a"]}}},
      500ms);
  REQUIRE(broken.size() == 2);
  CHECK(broken[0].from == "a");
  CHECK(broken[0].to == "b");
  CHECK(broken[1].from == "b");
  CHECK(broken[1].to == "c");
  CHECK_THAT(broken[1].why, ContainsSubstring("no data for"));
}

TEST_CASE("a node answers a probe only with the matching ticket") {
  Nodes nodes{{"a", "b"}};
  CHECK(nodes.probe({{"a", {nodes.ports["b"]}}}, 300ms).size() == 1);
  CHECK(nodes.probe({{"a", {{"b", "no port"}}}, {"b", {}}}, 300ms).size() == 1);
  CHECK(nodes.probe({{"a", {nodes.ports["b"]}}, {"b", {}}}, 10s, "another ticket").empty());
}

TEST_CASE("a node dials only where its MEMBERSHIP tells it to") {
  Nodes nodes{{"a", "b"}};
  CHECK_FALSE(nodes.obeys_stranger("a"));
  CHECK(nodes.probe({{"a", {}}}, 300ms).empty());
  CHECK_FALSE(nodes.obeys_stranger("a"));
}
