/// How a daemon comes to its part in a job: it leads one, or finds the daemon that does. Blocking
/// calls, for a thread of their own.
#pragma once

#include "../interfaces.hpp"
#include "network.hpp"
#include "parts_transfer.hpp"
#include "troupe/collectives/tcp/data_plane.hpp"
#include "troupe/engine/resume.hpp"
#include "waits.hpp"

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
  node_actor node;                ///< this daemon's
  voter_actor voter;              ///< the same
  NodeInfo info;                  ///< of it
  std::vector<std::string> known; ///< addresses of nodes that it has trained with
  std::shared_ptr<collectives::DataPlane> data_plane;
  std::function<void(const std::string&)> say; ///< tells a person what is waited for
  /// Waits so long, or until this daemon is asked to stop: true.
  std::function<bool(std::chrono::milliseconds)> stopped_within;
  /// Opens and compiles, for a job with so many slices that has begun already: its nodes need not
  /// wait for that.
  std::function<Status(std::int64_t slices)> prepare;
  std::shared_ptr<Waits> waits = std::make_shared<Waits>();
  /// Called when the others leave this node out for a while; returns how long to wait.
  std::function<std::chrono::milliseconds()> left_out = {};
  bool has_had_seat = false; ///< in this process: a refusal does not say that the leader is lost
};

/// Waits a moment between two attempts, which says so in the log when it is time. Errors: stopped,
/// with what could not be done; network, `met`, when the wait is over.
Status pause_before_retry(const Applicant& applicant, Waits::Row& wait,
                          std::chrono::milliseconds pause, const Error& met);

/// What this daemon got: its seat, and where its ranks connect to others'.
struct Place {
  engine::Seat seat;
  std::shared_ptr<collectives::Meeting> meeting = nullptr; ///< null where there is one node
};

/// A MEMBERSHIP, and the address of the node that it is on.
struct JobPlace {
  membership_actor membership;
  std::string leader;
};

/// A leader that is gone: the last generation, and why it is gone.
struct Vacancy {
  engine::GenerationRecord last;
  Error lost;
};

/// Spawns the MEMBERSHIP that the others join. `after`: the node was elected to go on after that.
JobPlace lead_job(const Applicant& applicant, const std::optional<Vacancy>& after = {});

/// What the leader offers of a run that goes on from a checkpoint, or begins: null. Errors: of
/// offer_folder.
Result<StateOffer> offer_beginning(const Applicant& applicant, const engine::Beginning& beginning);

/// Finds a MEMBERSHIP by any of the daemons of cluster.join, and takes a seat. Tries until the
/// quorum timeout, as they may not be there yet, or still have to end a job that has failed.
/// Errors: network, with what the last attempt met; invalid_input, why this node may not take part;
/// stopped, when somebody asked for it, or there is no job left to do; those of preparing.
Result<Place> join_job(const Applicant& applicant, JobPlace& job);

/// Waits until all nodes are there, as a spare as long as the job lasts, else as long as the leader
/// may. If the others leave this node out, it asks again, after a longer wait each time. Errors:
/// why this one may not take part, network where another attempt may have more luck; stopped, when
/// somebody asked for it.
Result<Place> take_seat(const Applicant& applicant, const JobPlace& job);

/// Where the nodes of a job come together whose leader is gone: at a node that was elected, or in
/// the job that they have begun since. Where that is this one there is no MEMBERSHIP yet, and the
/// vacancy has what it is to go on after. Tries until the quorum timeout. Errors: network, stopped.
Result<JobPlace> find_successor(const Applicant& applicant, Vacancy& vacancy);

/// Gets the state that the generation goes on from, or gives it to those that lack it: what this
/// node goes on from, where it had `own`; null: it is drawn from the seed. Returns when all nodes
/// have it. Errors: network; corrupt; stopped, when somebody asked for it; those of reading it; of
/// enter_folder.
Result<StateSourcePtr> share_state(const Applicant& applicant, const membership_actor& membership,
                                   const Place& place, const StateSourcePtr& own);

struct SharedParts {
  StateSourcePtr state = nullptr;
  std::unique_ptr<PartsServer> server = nullptr; ///< null: nobody reads from this node
};

/// The same where nodes have the state only together: this one holds these parts of it. Values
/// travel when they are read. Errors: as share_state.
Result<SharedParts> share_parts(const Applicant& applicant, const Place& place,
                                const engine::HeldStates& held);

/// Why nodes did not connect: a connection that was closed is seen before it is known whose node
/// has gone.
Error cause(const Applicant& applicant, const Place& place, Error met);

} // namespace troupe::actors
