// Chooses the nodes that train: as many as fill whole groups of workers.
#include "actors/membership/membership.hpp"

#include <fmt/format.h>

namespace troupe::actors {

/// Returns these nodes, and the spares for which there is room.
std::vector<NodeInfo> MembershipState::with_spares(std::vector<NodeInfo> nodes,
                                                   const Spares& spares) const {
  for (const auto& spare : spares)
    if (has_begun() && lacks_room(nodes, spare.info.workers).empty())
      nodes.push_back(spare.info);
  return nodes;
}

std::vector<NodeInfo> MembershipState::candidates() const {
  return with_spares(member_list_.nodes(), spares_);
}

/// Returns the addresses of the candidates that train; none if they fill no whole groups.
std::set<std::string> MembershipState::choose() const {
  const auto nodes = MemberList::by_need(candidates());
  const auto trains = choose_trainers(workers_of(nodes), setup_.groups.size);
  std::set<std::string> chosen;
  for (std::size_t i = 0; i < trains.size(); ++i)
    if (trains[i])
      chosen.insert(nodes[i].address);
  return chosen;
}

bool MembershipState::has_enough() const {
  return std::ssize(candidates()) >= setup_.min_nodes && !choose().empty();
}

std::string MembershipState::lacks_group() const {
  const auto here = total_workers(candidates());
  return fmt::format("workers train in groups of {} ({}), and {} {} present", setup_.groups.size,
                     setup_.groups.key, here, here == 1 ? "is" : "are");
}

std::string MembershipState::waiting_for() const {
  const bool lacks_workers = member_list_.absent().empty() &&
                             std::ssize(candidates()) >= setup_.min_nodes && !has_enough();
  return lacks_workers ? "waiting for more nodes: " + lacks_group() : member_list_.waiting_for();
}

/// Makes the chosen nodes members, and the others spares. Without a whole group the members stay,
/// to save the state as one group.
void MembershipState::regroup() {
  const auto chosen = choose();
  if (chosen.empty())
    return;
  const auto before = members_.size();
  for (auto spare = spares_.begin(); spare != spares_.end();) {
    if (!chosen.contains(spare->info.address)) {
      ++spare;
      continue;
    }
    setup_.say(fmt::format("spare node {} now takes part", spare->info.address));
    give_place(std::ssize(members_), std::move(*spare));
    spare = spares_.erase(spare);
  }
  for (auto place = before; place-- > 0;)
    if (!chosen.contains(members_[place].address))
      make_spare(place);
}

/// Makes a member a spare, in front of those that joined later, because it has trained. A node that
/// was asked to leave leaves instead.
void MembershipState::make_spare(std::size_t place) {
  Spare spare{member_list_.nodes()[place], std::move(members_[place])};
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(place));
  member_list_.remove(spare.info.address);
  if (spare.member.leaves) {
    spare.member.assignment->deliver(
        training::NodeAssignment{.refused = Error{Errc::stopped, "this node was asked to leave"}});
    return;
  }
  setup_.say(fmt::format("node {} waits as a spare: its workers do not fill a group of {} ({})",
                         spare.info.address, setup_.groups.size, setup_.groups.key));
  spares_.insert(spares_.begin(), std::move(spare));
}

} // namespace troupe::actors
