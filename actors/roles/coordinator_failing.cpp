// The reaction of COORDINATOR to a failed role.
#include "actors/membership/blame.hpp"
#include "actors/roles/coordinator.hpp"
#include "core/device/memory_advice.hpp"

#include <algorithm>
#include <array>

namespace troupe::actors {

/// Fails after the detection timeout: ranks that wait for a lost node fail before its loss is
/// noticed, and the loss is the better error. A single node has nothing to wait for.
void CoordinatorState::suspect(const Error& error) {
  if (setup_.generation.nodes.size() == 1)
    return fail(error);
  if (ranks_.interrupted.insert(error.where.rank).second && ranks_.interrupted.size() == 1)
    self_->run_delayed(setup_.timeouts.detection, [this, error] { fail(error); });
}

/// After an error of the kinds in `broken`, the others may continue without the node that failed,
/// or try again. Errors of other kinds are the job's: every node would have them.
void CoordinatorState::fail(const Error& error) {
  constexpr std::array broken = {Errc::device,  Errc::out_of_memory, Errc::collective,
                                 Errc::network, Errc::internal,      Errc::io};
  const bool is_early = phase_ == Phase::joining && !is_between_nodes(error.code);
  fail(error, setup_.membership && !is_early && std::ranges::count(broken, error.code) > 0);
}

/// Ends the job, or reports the error to MEMBERSHIP if the other nodes continue.
void CoordinatorState::fail(Error error, bool others_go_on) {
  if (phase_ == Phase::ended || is_void_)
    return;
  auto& where = error.where;
  if (where.node.empty() && setup_.generation.has(where.rank))
    where.node = setup_.generation.node_of(where.rank).address;
  // An actor that does not know its step failed at the one in flight.
  if (where.step < 0 && !where.actor.empty() && phase_ != Phase::joining)
    where.step = phase_ == Phase::training ? steps_.committed : steps_.committed - 1;
  if (!others_go_on)
    return end_failed(std::move(error));
  if (std::exchange(reported_, true))
    return;
  SharedFailure failure{error};
  // A collective fails for all ranks that have reached it. So, after the longest time that a
  // collective may take, the ranks that have reported no failure have not reached it.
  if (is_between_nodes(error.code) && Clock::now() - last_commit_ >= setup_.timeouts.collective)
    failure.behind = ranks_.nodes_behind();
  self_
      ->request(setup_.membership, caf::infinite, atom::failed_v, setup_.generation.number,
                std::move(failure))
      .then([] {}, [this, error](const caf::error&) { end_failed(error); });
}

void CoordinatorState::end_failed(Error error) {
  if (phase_ == Phase::ended || is_void_)
    return;
  if (steps_.committed == 0)
    error = before_first_step(std::move(error));
  totals_.summary.error = error.to_string();
  end("failed", std::move(error));
}

} // namespace troupe::actors
