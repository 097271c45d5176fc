#include "actors/membership/link_proof.hpp"

#include "collectives/data_plane/data_plane.hpp"
#include "core/fail.hpp"

#include <memory>
#include <utility>

namespace troupe::actors {

namespace {

constexpr std::chrono::seconds time_to_answer{3}; ///< in addition to the limit

/// Answers of all nodes to their orders.
struct Answers {
  std::size_t open;
  std::function<void(std::vector<BrokenLink>)> done;
  std::vector<BrokenLink> broken = {};

  void add(std::vector<BrokenLink> more) {
    std::ranges::move(more, std::back_inserter(broken));
    if (--open == 0)
      done(std::move(broken));
  }
};

std::vector<BrokenLink> all_broken(const std::string& from, const ProbeOrder& order) {
  std::vector<BrokenLink> broken;
  for (const auto& to : order.to)
    broken.push_back({from, to.node, std::string{no_answer}});
  if (broken.empty())
    broken.push_back({from, from, std::string{no_answer}});
  return broken;
}

void order(membership_actor::pointer self, const LinkEnd& from, const ProbeOrder& order,
           const std::shared_ptr<Answers>& answers) {
  self->request(from.node, std::chrono::milliseconds{order.limit_ms} + time_to_answer,
                atom::probe_v, order)
      .then([answers](std::vector<BrokenLink>& broken) { answers->add(std::move(broken)); },
            [answers, name = from.port.node, order](const caf::error&) {
              answers->add(all_broken(name, order));
            });
}

} // namespace

Status prove_links(membership_actor::pointer self, const LinkEnd& node,
                   const std::vector<LinkEnd>& others, std::chrono::milliseconds limit,
                   std::function<void(std::vector<BrokenLink>)> done) {
  TROUPE_TRY(const auto ticket, collectives::make_secret());
  const auto answers = std::make_shared<Answers>(Answers{others.size() + 1, std::move(done)});
  ProbeOrder of_node{.ticket = ticket, .limit_ms = limit.count()};
  for (const auto& other : others) {
    of_node.to.push_back(other.port);
    order(self, other, {.ticket = ticket, .to = {node.port}, .limit_ms = limit.count()}, answers);
  }
  order(self, node, of_node, answers);
  return {};
}

} // namespace troupe::actors
