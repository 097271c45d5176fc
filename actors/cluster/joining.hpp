/// How a daemon comes to its part in a job: it leads one, or finds the daemon that does. Blocking
/// calls, for a thread of their own.
#pragma once

#include "../interfaces.hpp"
#include "detail/checkpoint_pieces.hpp"
#include "network.hpp"
#include "troupe/collectives/tcp/data_plane.hpp"
#include "troupe/engine/resume.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe::actors {

struct Applicant {
  caf::actor_system& system;
  const Config& config;
  const NetworkOptions& network;
  node_actor node; ///< this daemon's
  NodeInfo info;   ///< of it
  std::shared_ptr<collectives::DataPlane> data_plane;
  std::function<void(const std::string&)> say; ///< tells a person what is waited for
  /// Waits so long, or until this daemon is asked to stop: true.
  std::function<bool(std::chrono::milliseconds)> stopped_within;
};

/// What this daemon got: its seat, and where its ranks connect to others'.
struct Place {
  engine::Seat seat;
  std::shared_ptr<collectives::Meeting> meeting = nullptr; ///< null where there is one node
};

struct Lead {
  membership_actor membership;
  std::optional<CheckpointPieces> pieces = {}; ///< that other nodes need; none: begins afresh
};

/// Spawns the MEMBERSHIP that the others join, of a job that goes on from this beginning. Errors:
/// those of reading it, for nodes that lack the file; of offer_folder.
Result<Lead> lead_job(const Applicant& applicant, const engine::Beginning& beginning);

/// Finds a MEMBERSHIP by any of the daemons of cluster.join, and takes a seat. Tries until the
/// quorum timeout, as they may not be there yet, or still have to end a job that has failed.
/// Errors: network, with what the last attempt met; invalid_input, why this node may not take part;
/// stopped, when somebody asked for it, or there is no job left to do.
Result<Place> join_job(const Applicant& applicant, membership_actor& membership);

/// Waits until all nodes are there. Errors: why this one may not take part, network where another
/// attempt may have more luck; stopped, when somebody asked for it.
Result<Place> take_seat(const Applicant& applicant, const membership_actor& membership);

/// The leader's checkpoint, or nothing when the job begins afresh. Returns when all nodes have it.
/// Errors: network; corrupt; stopped, when somebody asked for it; of enter_folder.
Result<engine::Beginning> fetch_beginning(const Applicant& applicant, const Place& place);

/// For the node that leads: sends it, and waits until all others have it. Errors: why one will
/// never have it; stopped, when somebody asked for it.
Status send_beginning(const Applicant& applicant, const Lead& lead, const Place& place);

/// Why nodes did not connect: a connection that was closed is seen before it is known whose node
/// has gone.
Error cause(const Applicant& applicant, const Place& place, Error met);

} // namespace troupe::actors
