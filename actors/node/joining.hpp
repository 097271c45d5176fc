/// Takes part in a job: leads it, or finds the daemon that does. Blocking calls, for a dedicated
/// thread.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/node/network.hpp"
#include "actors/node/shard_transfer.hpp"
#include "actors/node/waits.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "training/resume.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe::actors {

struct JoinContext {
  caf::actor_system& system;
  const Config& config;
  const NetworkOptions& network;
  node_actor node;                ///< this daemon's NODE
  consensus_actor consensus;      ///< this daemon's CONSENSUS
  NodeInfo info;                  ///< of this daemon
  std::vector<std::string> known; ///< addresses of nodes that it has trained with
  std::shared_ptr<collectives::DataPlane> data_plane;
  std::function<void(const std::string&)> say; ///< logs what this daemon waits for
  /// Pauses for the given time. Returns true at once when this daemon is asked to stop.
  std::function<bool(std::chrono::milliseconds)> stopped_within;
  /// Opens the data and compiles for a running job with this many slices, before the node joins, so
  /// that the other nodes need not wait for that.
  std::function<Status(std::int64_t slices)> prepare;
  std::shared_ptr<Waits> waits = std::make_shared<Waits>();
  /// Called when the others leave this node out for a while. Returns how long to wait.
  std::function<std::chrono::milliseconds()> left_out = {};
  bool has_had_assignment = false; ///< if so, a failed proof is retried after `left_out`
};

/// Pauses between two attempts, and logs the wait when its line is due. Errors: stopped, with the
/// name of the wait; `met`, when the wait's limit is over.
Status pause_before_retry(const JoinContext& context, Waits::Row& wait,
                          std::chrono::milliseconds pause, const Error& met);

/// This daemon's assignment, and the connection group in which its ranks connect to others'.
struct Admission {
  training::NodeAssignment assignment;
  std::shared_ptr<collectives::ConnectionGroup> connection_group = nullptr; ///< null: a single node
};

/// A MEMBERSHIP, and the address of its node.
struct JobHandle {
  membership_actor membership;
  std::string leader;
};

/// The loss of a leader: its last generation, and the reason.
struct LeaderLoss {
  training::GenerationRecord last;
  Error lost;
};

/// Spawns the MEMBERSHIP that the others join. `after`: the lost leader that this node succeeds.
JobHandle lead_job(const JoinContext& context, const std::optional<LeaderLoss>& after = {});

/// Returns the leader's offer of the state that a run resumes from; none if `resume_point.state` is
/// null. Errors: those of offer_folder.
Result<StateOffer> offer_resume_point(const JoinContext& context,
                                      const training::ResumePoint& resume_point);

/// Finds a MEMBERSHIP through any daemon of cluster.join, and gets an assignment. Tries until the
/// quorum timeout, because these daemons may not run yet, or may still be ending a failed job.
/// Errors: network, with the error of the last attempt; invalid_input, why this node may not take
/// part; stopped, when this daemon is asked to stop, or the job has ended; those of `prepare`.
Result<Admission> join_job(const JoinContext& context, JobHandle& job);

/// Waits for an assignment: as a spare for as long as the job lasts, else within the leader's own
/// limits. If the others leave this node out, it asks again, after a longer wait each time. Errors:
/// why this node may not take part; network if another attempt may succeed; stopped, when this
/// daemon is asked to stop.
Result<Admission> take_assignment(const JoinContext& context, const JobHandle& job);

/// Finds where nodes gather after the loss of their leader: at the elected node, or in a job that
/// they have begun since. If this node was elected, the result has no MEMBERSHIP, and
/// leader_loss.last is the record to continue after. Tries until the quorum timeout. Errors:
/// network, stopped.
Result<JobHandle> find_successor(const JoinContext& context, LeaderLoss& leader_loss);

/// Gets the state that the generation resumes from, or sends it to the nodes that lack it. `own`:
/// this node's state. Returns this node's state when all nodes have it; null: it is drawn from the
/// seed. Errors: network; corrupt; stopped; those of reading it and of enter_folder.
Result<StateSourcePtr> share_state(const JoinContext& context, const membership_actor& membership,
                                   const Admission& admission, const StateSourcePtr& own);

struct SharedShards {
  StateSourcePtr state = nullptr;
  std::unique_ptr<ShardServer> server = nullptr; ///< null: no node reads from this one
};

/// Like share_state, for a state that no node has as a whole. `retained` are this node's shards.
/// Values are sent when they are read. Errors: as share_state.
Result<SharedShards> share_shards(const JoinContext& context, const Admission& admission,
                                  const training::RetainedStates& retained);

/// Replaces the error of a connection by the reason that MEMBERSHIP gives, if it arrives within the
/// detection timeout: a closed connection is noticed before the loss of the node.
Error cause(const JoinContext& context, const Admission& admission, Error met);

} // namespace troupe::actors
