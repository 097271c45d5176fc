/// The typed interface of every role: the architecture in one page. A message's comment names its
/// sender and what the receiver does; "its stream" is the callback of a device stream that the role
/// owns. An error in an answer is a caf::error that contains ours (caf_error.hpp). The messages
/// have the order of the handlers in the role's behavior; an interface that extends another one has
/// only its own. Parameter names are only documentation.
///
///   COORDINATOR --advance--------> WORKER <--batch, credit--> DATA LOADER
///        ^                           |  ^
///        |           gradients_ready |  | parameters_ready
///        |                           v  |
///        +------step_committed--- SHARD MANAGER --snapshot--> CHECKPOINTER, GENERATOR
///        +---record-------> METRICS
#pragma once

#include "actors/type_ids.hpp"

namespace troupe::actors {

/// The message of a task or a stream on another thread to its actor (resume_in()). It cannot come
/// from another process.
using resumed_actor = caf::typed_actor<
    // A task is done, or a stream has come this far. Calls the function.
    caf::result<void>(atom::done, FollowUpPtr then)>;

/// The messages that the METRICS of every node sends to the METRICS of the leader.
using heartbeat_actor = caf::typed_actor<
    // Notes that the node at this address is alive. Sent once a second.
    caf::result<void>(atom::alive, std::string address),
    // Sends the lines of the run's files after the position `there`, to a node that may lead one
    // day. Answered when such lines exist.
    caf::result<metrics::HistoryChunk>(atom::fetch, metrics::HistoryPlace there)>;

/// METRICS: shows a run to people and to Prometheus. Also gets the messages of heartbeat_actor.
using metrics_actor = heartbeat_actor::extend<
    // COORDINATOR: exports the list of nodes to Prometheus, and reports once a second to the
    // leader's METRICS that this node is alive.
    caf::result<void>(atom::join, std::vector<metrics::NodeRecord> nodes, heartbeat_actor leader),
    // COORDINATOR: records a step that all ranks have committed; the end of an epoch, with its
    // evaluation if there was one; the first step of a generation that continues another; a sample
    // of text from a language model in training; a checkpoint that was written or has failed.
    caf::result<void>(atom::record, RunRecordPtr event),
    // COORDINATOR: shows the resources of this node's workers; the leader's METRICS gets those of
    // all workers.
    caf::result<void>(atom::status, WorkerSummaries workers),
    // COORDINATOR: shows the phase that the job has entered.
    caf::result<void>(atom::status, metrics::JobPhase phase),
    // COORDINATOR: counts a loss that is not finite, of a step that will not be committed.
    caf::result<void>(atom::failed, double loss),
    // COORDINATOR: reports that the text sample after `steps` steps was not written. The run
    // continues.
    caf::result<void>(atom::failed, std::int64_t steps, Error why),
    // Itself, once a second: samples this host and CAF's own counters.
    caf::result<void>(atom::tick),
    // COORDINATOR or NODE, when the run has ended: writes the summary and the report. Answers the
    // outcome, which is "failed" if the run's files are incomplete.
    caf::result<RunOutcomePtr>(atom::finish, RunOutcomePtr outcome),
    // NODE, when the generation is over and the run continues: answers the view for the next
    // METRICS, and quits.
    caf::result<RunViewPtr>(atom::release)>;

/// CHECKPOINTER: one per rank that writes. Writes the rank's state to disk while training
/// continues. Detached, because it blocks on files.
using checkpointer_actor = caf::typed_actor<
    // SHARD MANAGER: writes the rank's snapshot, and releases each chunk after writing it.
    // ShardOutcome::failure is the error, if any.
    caf::result<ShardOutcome>(atom::snapshot, SnapshotPtr snapshot),
    // SHARD MANAGER: writes one chunk of the state; the chunks arrive in order. Without `write` it
    // only hashes all parameters. The outcome of the last chunk is the result.
    caf::result<ShardOutcome>(atom::snapshot, StateChunkPtr chunk, bool write),
    // COORDINATOR, to rank 0: publishes a checkpoint of the files of all ranks, and deletes old
    // ones.
    caf::result<metrics::CheckpointRecord>(atom::finish, CheckpointShards parts)>;

/// GENERATOR: one per job, on rank 0's node, if a language model writes samples of text during
/// training. Computes them on the host while training continues. Detached: a handler takes as long
/// as one token, and then resumes itself for the next one.
using generator_actor = resumed_actor::extend<
    // SHARD MANAGER: copies one chunk of the parameters; the chunks arrive in order. Answers, after
    // the copy, whether it was the last chunk.
    caf::result<bool>(atom::snapshot, StateChunkPtr chunk),
    // COORDINATOR: writes the sample after `steps` steps, from the copied parameters.
    caf::result<GeneratedRecordPtr>(atom::generate, std::int64_t steps)>;

/// WORKER: one per device. Enqueues forward and backward. Its stream resumes it when a slice
/// is almost done, when all work of a pass, or of a batch of the test set, is done, or when the
/// device has failed.
using worker_actor = resumed_actor::extend<
    // COORDINATOR: allows the steps below the limit.
    caf::result<void>(atom::advance, std::int64_t limit),
    // DATA LOADER: takes a micro-batch that is being filled. Its event completes when it is full.
    caf::result<void>(atom::batch, MicroBatchPtr batch),
    // SHARD MANAGER: the parameters of a requested bucket are ready at the event; null: they are
    // ready now.
    caf::result<void>(atom::parameters_ready, ParameterRequest use, EventPtr there),
    // COORDINATOR, between two steps, when none is in flight: uses this slice assignment from its
    // first step on. Answered when DATA LOADER uses it too.
    caf::result<void>(atom::assign, data::SliceAssignment next),
    // COORDINATOR, in asynchronous training: computes this slice.
    caf::result<void>(atom::assign, Pass slice),
    // SHARD MANAGER: evaluates on the test set with the parameters after `steps` steps. The batch
    // norm statistics are ready at the event.
    caf::result<void>(atom::evaluate, std::int64_t steps, EventPtr statistics),
    // COORDINATOR, while no step is in flight: measures the peak rate of the node's processors
    // again, and reports it to COORDINATOR.
    caf::result<void>(atom::measure)>;

/// DATA LOADER: one per node. Fills free buffers ahead of the workers. A buffer that was read comes
/// back as a credit.
using data_loader_actor = caf::typed_actor<
    // WORKER: fills its training passes by this slice assignment from `first` on, as credits allow.
    caf::result<void>(atom::begin, std::int32_t rank, worker_actor worker,
                      data::SliceAssignment next, Pass first),
    // WORKER: fills these passes, or batches of the test set, as soon as buffers are free.
    caf::result<void>(atom::fetch, std::int32_t rank, PassMode pass_mode, std::int64_t first,
                      std::int64_t end),
    // WORKER: the buffer of this micro-batch is free again.
    caf::result<void>(atom::credit, std::int32_t rank, MicroBatchPtr batch)>;

/// SHARD MANAGER: one per device. Owns parameters, gradients, optimizer state and the communicator.
/// Only it issues collectives, except for those within a pass (ADR 0011). These are the messages of
/// all strategies. Its streams resume it when the optimizer has applied a step, when a
/// requested copy is complete, when they have drained, or when the device or a collective has
/// failed.
using shard_manager_actor = resumed_actor::extend<
    // NODE: the worker on the same device.
    caf::result<void>(atom::join, worker_actor worker),
    // WORKER: requests the parameters of a bucket. It requests all buckets of a pass at once, in
    // the order in which it runs them. Answered by parameters_ready.
    caf::result<void>(atom::need_parameters, ParameterRequest use),
    // WORKER: the unit's gradients of this pass are ready at the event.
    caf::result<void>(atom::gradients_ready, Pass pass, UnitId unit, EventPtr written),
    // WORKER: the measurements of a step whose passes are all done; in asynchronous training, of
    // one of its slices.
    caf::result<void>(atom::done, WorkerStep step, SpansPtr computing),
    // Point-to-point transport: a message from another rank's SHARD MANAGER, or from itself.
    caf::result<void>(atom::deliver, collectives::MessagePtr message),
    // COORDINATOR: makes batch norm statistics equal on all ranks, then has WORKER evaluate the
    // state after `steps` steps.
    caf::result<void>(atom::evaluate, std::int64_t steps),
    // COORDINATOR: copies the rank's part of the state after `steps` steps for CHECKPOINTER, or
    // sends rank 0 what the strategy divides. All these steps are committed, and no later one has
    // begun. Answered when CHECKPOINTER has the copy; COORDINATOR gets `saved` when it is written.
    caf::result<void>(atom::save, std::int64_t steps),
    // COORDINATOR, when nothing is trained: copies one chunk of the state for this use. Answered
    // when its receiver has it.
    caf::result<ShardOutcome>(atom::gather, std::int64_t steps, std::uint64_t chunk, ChunkUse use),
    // NODE, when the generation is over: fails all that waits for other ranks, with this reason.
    // Answered when its stream has drained and COORDINATOR has the reports of all applied steps.
    caf::result<void>(atom::abort, Error reason)>;

/// SHARD MANAGER of ranks that train each step together, or synchronize in rounds of steps.
using synchronous_shard_manager_actor = shard_manager_actor::extend<
    // WORKER, if the strategy divides parameters: at the event it no longer reads the parameters of
    // this forward request.
    caf::result<void>(atom::released, ParameterRequest use, EventPtr read),
    // COORDINATOR, as to WORKER: uses this slice assignment from its first step on. Answered when
    // it does.
    caf::result<void>(atom::assign, data::SliceAssignment next),
    // COORDINATOR, within a round of steps: synchronizes all ranks to one state after `steps`
    // steps. Answered when this rank has it.
    caf::result<void>(atom::synchronize, std::int64_t steps)>;

/// SHARD MANAGER of asynchronous training: a parameter server. Its messages are the two-phase
/// commit of a step.
using parameter_server_actor = shard_manager_actor::extend<
    // COORDINATOR: the combined results of all ranks. Prepares the step.
    caf::result<void>(atom::decided, std::int64_t step, training::StepResults of_all),
    // COORDINATOR, when all ranks have voted: applies the step.
    caf::result<void>(atom::advance, std::int64_t step)>;

/// COORDINATOR: one per job. Decides how far workers may go, and when to evaluate, save and end.
using coordinator_actor = caf::typed_actor<
    // NODE: the roles of a rank, and the METRICS of its node. The job starts when all ranks have
    // joined.
    caf::result<void>(atom::join, RankInfo info, worker_actor worker,
                      shard_manager_actor shard_manager, metrics_actor metrics),
    // NODE: runs the job. Answers when it has ended or was stopped, or with the error that ended
    // it.
    caf::result<RunOutcomePtr>(atom::run),
    // SHARD MANAGER: its rank has committed a step.
    caf::result<void>(atom::step_committed, StepReport report),
    // WORKER: its rank has evaluated its part of the test set.
    caf::result<void>(atom::evaluated, EvaluationReport report),
    // WORKER: the peak rate of each device of the rank's node, in operations per second.
    caf::result<void>(atom::measure, std::int32_t rank, double peak_operations),
    // SHARD MANAGER: its rank has written its part of a checkpoint.
    caf::result<void>(atom::saved, ShardOutcome part),
    // Any role: it has failed, and the job ends.
    caf::result<void>(atom::failed, Error error),
    // WORKER or SHARD MANAGER: a rank's loss is not finite. Its error follows.
    caf::result<void>(atom::failed, double loss),
    // WORKER, in asynchronous training: the rank will soon be free for another slice.
    caf::result<void>(atom::assign, std::int32_t rank),
    // WORKER: the rank has computed a slice and sent its gradients.
    caf::result<void>(atom::done, std::int32_t rank, Pass slice),
    // SHARD MANAGER: the rank has all gradients for its shard of a step, with these results.
    caf::result<void>(atom::propose, std::int32_t rank, std::int64_t step,
                      training::StepResults by_rank),
    // SHARD MANAGER: the rank has prepared the step, and votes for it.
    caf::result<void>(atom::vote, std::int32_t rank, std::int64_t step),
    // NODE or MEMBERSHIP: finishes the steps in flight, saves, and ends the job. It has failed with
    // this reason, unless the code is `stopped`.
    caf::result<void>(atom::stop, Error reason),
    // MEMBERSHIP: pauses the job for another generation. Answered when no step is in flight and
    // none begins; with `save`, when the state is on disk.
    caf::result<void>(atom::halt, bool save),
    // NODE: the generation is over. Ignores later failures.
    caf::result<void>(atom::abort),
    // NODE, when no role of the generation runs any more: records the steps that were reported.
    // Answers the totals with which the next COORDINATOR continues.
    caf::result<RunTotalsPtr>(atom::release),
    // NODE: answers the progress of the job.
    caf::result<JobStatus>(atom::status)>;

/// The messages between the CONSENSUS actors of different nodes. `last`: the record of the last
/// generation; they decide the record after it.
using peer_actor = caf::typed_actor<
    // Asks for a promise to accept nothing below this ballot. If the sender is not the leader, the
    // answer waits until the receiver has lost the leader too.
    caf::result<VoteReply>(atom::vote, training::GenerationRecord last, std::int64_t ballot),
    // Asks to accept this proposal. Answers the lowest ballot that the receiver still accepts.
    caf::result<std::int64_t>(atom::propose, training::GenerationRecord last,
                              RecordProposal record),
    // This record is decided.
    caf::result<void>(atom::decided, training::GenerationRecord record),
    // The next generation is built at the node of this address, which was elected by this ballot.
    // If two nodes were elected, the one with the higher ballot counts.
    caf::result<void>(atom::lead, training::GenerationRecord last, std::string address,
                      std::int64_t ballot)>;

/// The message of introduce() to NODE, which forwards it to CONSENSUS.
using introduced_actor = caf::typed_actor<
    // Another node's CONSENSUS has this handle. Answers this node's identity and handle.
    caf::result<training::Voter, peer_actor>(atom::introduce, training::Voter who,
                                             peer_actor peer)>;

/// CONSENSUS: one per daemon. Runs Paxos with the CONSENSUS actors of other nodes: they decide the
/// record of the next generation, and which node leads when the leader is lost. Also gets the
/// messages of peer_actor and introduced_actor.
using consensus_actor = peer_actor::extend_with<introduced_actor>::extend<
    // introduce(): the attempt to connect to the daemon at this address is over.
    caf::result<void>(atom::introduce, std::string address),
    // MEMBERSHIP: has this record decided. Error: it will never be decided.
    caf::result<void>(atom::propose, training::GenerationRecord record),
    // MEMBERSHIP: is ready for nodes to join it. Announces this node to the others.
    caf::result<void>(atom::gather),
    // NODE: this node stops leading, and votes on its successor. Answered when that is decided.
    caf::result<void>(atom::leave),
    // NODE: this node has lost the leader of this generation.
    caf::result<void>(atom::lost, std::int64_t generation),
    // ask_consensus(): answers the address at which nodes gather after this generation, and the
    // last record, as soon as both are known. If `generation` is below 0 it answers at once, with
    // an empty address if it is unknown. Error: the job has ended.
    caf::result<std::string, training::GenerationRecord>(atom::follow, std::int64_t generation),
    // NODE: the job has ended for this node.
    caf::result<void>(atom::finish),
    // NODE: describes the wait of this actor; empty: it waits for nothing.
    caf::result<std::string>(atom::status),
    // NODE: answers the last known record; its number is 0 if there is none, or its job has ended.
    caf::result<training::GenerationRecord>(atom::decided)>;

/// The messages of MEMBERSHIP to the NODE of a daemon that has joined.
using member_actor = caf::typed_actor<
    // The job has ended, at least for this node. CONSENSUS sends it, too.
    caf::result<void>(atom::finish, JobEnd end),
    // Stops waiting for the ranks of this generation: they will not all be connected.
    caf::result<void>(atom::abort, std::int64_t generation, Error error),
    // Ends this generation, and requests an assignment in the next.
    caf::result<void>(atom::halt, std::int64_t generation, Error reason),
    // A generation has begun without an assignment for this node, which waits for one; or the
    // voters and spares of a generation have changed.
    caf::result<void>(atom::decided, training::GenerationRecord record),
    // Tries the links from this node's data plane to others. Answers the broken ones.
    caf::result<std::vector<BrokenLink>>(atom::probe, ProbeOrder order)>;

/// MEMBERSHIP: one per job, on the leader. Decides which nodes take part, and notices lost ones.
using membership_actor = caf::typed_actor<
    // NODE: requests an assignment in the next generation. Answered when all nodes have joined, or
    // with the reason of a refusal. A node for which there is no room is a spare, and is answered
    // when it gets ranks. Other nodes are refused after NodeInfo::time_left_ms.
    caf::result<training::NodeAssignment>(atom::join, NodeInfo info, member_actor node),
    // join_job(): answers the number of slices of a global batch, for a node that prepares to join
    // a running job; 0: the job has not begun.
    caf::result<std::int64_t>(atom::begin),
    // share_state(): another node has received the state that the job resumes from.
    caf::result<void>(atom::fetch),
    // NODE of the leader: COORDINATOR exists: all nodes have joined.
    caf::result<void>(atom::lead, coordinator_actor coordinator),
    // NODE of another node: answers COORDINATOR as soon as it exists.
    caf::result<coordinator_actor>(atom::follow),
    // COORDINATOR or GenerationBuilder: a node cannot do its part in this generation, or one of
    // its ranks has failed. The others continue without it, or the job fails. Answered like
    // `finish`.
    caf::result<void>(atom::failed, std::int64_t generation, SharedFailure failure),
    // NODE of the leader: tells all members that the job has ended. Answered when the reachable
    // ones know.
    caf::result<void>(atom::finish, JobEnd end),
    // NODE: ends. `job`: finishes the steps in flight, saves and ends the job; or stops waiting for
    // nodes. `node`: leaves between two steps, and the others continue. If this node leads, the
    // answer comes when those steps are saved. Error: it leads, and the others could not continue,
    // or are gathering. `signal`: like `node`, but a leader waits for the latter, and leaves when
    // they train again. `withdrawn`: withdraws its request for an assignment.
    caf::result<void>(atom::stop, member_actor node, StopReason reason),
    // NODE: describes what this node waits for; empty when all nodes have joined.
    caf::result<WaitStatus>(atom::status, member_actor node)>;

/// NODE: one per daemon. Supervises the roles on its host. Also gets the messages of member_actor
/// and introduced_actor. Its blocking work resumes it when a part of it is done.
using node_actor = member_actor::extend_with<introduced_actor>::extend_with<resumed_actor>::extend<
    // Another daemon: answers the MEMBERSHIP that this daemon leads or has joined,
    // and the leader's address. Errors: stopped, its job has ended; network, it has no job, or its
    // job has failed.
    caf::result<membership_actor, std::string>(atom::join),
    // The daemon at this address would begin a job: answers the identity of this process; the
    // address of the node that should begin one in this node's view; whether a job has ended here;
    // and the last record of CONSENSUS. Empty address: this node takes part in the job of another
    // leader. Number 0: there is no record.
    caf::result<training::Voter, std::string, bool, training::GenerationRecord>(
        atom::begin, std::string requester),
    // GenerationBuilder: joins the job of this MEMBERSHIP, on the node at `leader`. Answered when
    // all nodes have joined, or after NodeInfo::time_left_ms.
    caf::result<training::NodeAssignment>(atom::join, membership_actor membership,
                                          std::string leader, NodeInfo info),
    // The main thread: builds and trains the generations of a job. Answers when the job has ended.
    caf::result<RunOutcomePtr>(atom::run, NodeWorkPtr work),
    // CONSENSUS: the nodes of this job gather at this address.
    caf::result<void>(atom::lead, std::string address),
    // The main thread: this daemon's CONSENSUS and identity.
    caf::result<void>(atom::vote, training::Voter self, consensus_actor consensus),
    // `troupe stop` or a signal: drains the job or this node. Error of StopReason::node: the others
    // could not continue.
    caf::result<void>(atom::stop, StopReason what),
    // `troupe status`: answers the progress of the job.
    caf::result<JobStatus>(atom::status)>;

} // namespace troupe::actors

CAF_BEGIN_TYPE_ID_BLOCK(troupe_roles, caf::id_block::troupe::end)
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::worker_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::shard_manager_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::metrics_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::coordinator_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::member_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::membership_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::heartbeat_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::peer_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::consensus_actor))
CAF_END_TYPE_ID_BLOCK(troupe_roles)
