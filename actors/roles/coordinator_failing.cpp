// The reaction of COORDINATOR to a failed role.
#include "actors/membership/blame.hpp"
#include "actors/roles/coordinator.hpp"
#include "core/device/memory_advice.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace troupe::actors {

/// Fails after the detection timeout: ranks that wait for a lost node fail before its loss is
/// noticed, and the loss is the better error. A single node has nothing to wait for.
void CoordinatorState::suspect(const Error& error) {
  if (setup_.generation.nodes.size() == 1)
    return fail(error);
  interrupted_.insert(error.where.rank);
  if (suspected_)
    return;
  suspected_ = error;
  self_->run_delayed(setup_.timeouts.detection, [this] { fail(*suspected_); });
}

/// Fails one node with an error that would end the job if it were the leader's.
void CoordinatorState::fail_node(const Error& error) {
  fail(error, setup_.membership && setup_.generation.node_of(error.where.rank).address !=
                                       setup_.generation.leader());
}

/// If the others go on, MEMBERSHIP decides how.
void CoordinatorState::fail(Error error, bool others_go_on) {
  if (phase_ == Phase::ended || is_void_)
    return;
  complete(error.where);
  if (!others_go_on)
    return end_failed(std::move(error));
  if (std::exchange(reported_, true))
    return;
  SharedFailure failure{error};
  if (is_between_nodes(error.code))
    failure.behind = nodes_behind();
  self_
      ->request(setup_.membership, caf::infinite, atom::failed_v, setup_.generation.number,
                std::move(failure))
      .then([] {}, [this, error](const caf::error&) { end_failed(error); });
}

/// A collective fails for all ranks that have reached it. So, after the longest time that a
/// collective may take, the ranks that have reported no failure have not reached it.
std::vector<std::string> CoordinatorState::nodes_behind() const {
  if (Clock::now() - last_commit_ < setup_.timeouts.collective)
    return {};
  std::vector<std::pair<std::string, std::int64_t>> reached;
  for (const auto& place : setup_.generation.nodes) {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (auto rank = place.first_rank; rank < place.first_rank + place.workers; ++rank)
      if (const auto member = members_.find(rank); member != members_.end())
        least = std::min(least, 2 * member->second.steps + (interrupted_.contains(rank) ? 1 : 0));
    reached.emplace_back(place.address, least);
  }
  return find_behind(reached);
}

/// Whether the others may continue without the node that failed, or try again. Errors of other
/// kinds are the job's: every node would have them.
bool CoordinatorState::others_may_go_on(const Error& error) const {
  constexpr std::array broken = {Errc::device,  Errc::out_of_memory, Errc::collective,
                                 Errc::network, Errc::internal,      Errc::io};
  const bool is_early = phase_ == Phase::joining && !is_between_nodes(error.code);
  return setup_.membership && !is_early && std::ranges::count(broken, error.code) > 0;
}

void CoordinatorState::end_failed(Error error) {
  if (phase_ == Phase::ended || is_void_)
    return;
  if (committed_ == 0)
    error = before_first_step(std::move(error));
  summary_.error = error.to_string();
  error_ = std::move(error);
  end("failed");
}

/// Fills in node and step. An actor that does not know its step failed at the one in flight.
void CoordinatorState::complete(Where& where) const {
  if (where.node.empty() && is_rank(where.rank))
    where.node = setup_.generation.node_of(where.rank).address;
  if (where.step < 0 && !where.actor.empty() && phase_ != Phase::joining)
    where.step = phase_ == Phase::training ? committed_ : committed_ - 1;
}

} // namespace troupe::actors
