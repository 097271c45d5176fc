/// Every role's typed interface: the architecture in one page. The order of the messages is the
/// order of the handlers in each role's behavior; the names of parameters are for the reader.
///
///   COORDINATOR --advance--------> WORKER <--batch, credit--> DATA LOADER
///        ^                           |  ^
///        |           gradients_ready |  | parameters_ready
///        |                           v  |
///        +------step_committed--- SHARD MANAGER --snapshot--> CHECKPOINTER, GENERATOR
///        +---step, epoch--> METRICS
#pragma once

#include "actors/type_ids.hpp"

namespace troupe::actors {

/// What every node tells the METRICS of the one that leads.
using heartbeat_actor = caf::typed_actor<
    // The node at this address lives.
    caf::result<void>(atom::alive, std::string address),
    // A node that may lead one day has the run's lines up to there; answered when there are more.
    caf::result<metrics::HistoryChunk>(atom::fetch, metrics::HistoryPlace there)>;

/// METRICS: everything a person or Prometheus sees of a run.
using metrics_actor = caf::typed_actor<
    // The nodes that take part now, for Prometheus to find them, and the METRICS of the one that
    // leads, which is told once a second that this node lives.
    caf::result<void>(atom::join, std::vector<NodeStatus> nodes, heartbeat_actor leader),
    // The node at this address lives.
    caf::result<void>(atom::alive, std::string address),
    // As a follower asks.
    caf::result<metrics::HistoryChunk>(atom::fetch, metrics::HistoryPlace there),
    // One step that all ranks have committed.
    caf::result<void>(atom::step_committed, StepRecordPtr step),
    // The end of an epoch, with the evaluation if there was one.
    caf::result<void>(atom::evaluated, EpochRecordPtr epoch),
    // What a language model writes by now.
    caf::result<void>(atom::evaluated, GeneratedRecordPtr generated),
    // The first step of a generation that goes on from another.
    caf::result<void>(atom::begin, RecoveryRecordPtr recovery),
    // What every worker of this node uses, for gauges and the summary.
    caf::result<void>(atom::status, WorkerSummaries workers),
    // What the job does from now on.
    caf::result<void>(atom::status, metrics::JobPhase phase),
    // A loss that is not finite, of a step that will not be committed.
    caf::result<void>(atom::failed, double loss),
    // The sample of text after so many steps was not written; the run goes on.
    caf::result<void>(atom::failed, std::int64_t steps, Error why),
    // A checkpoint was written or has failed.
    caf::result<void>(atom::saved, CheckpointOutcome checkpoint),
    // Reads CAF's own counters, then again a second later.
    caf::result<void>(atom::tick),
    // The run has ended: writes summary and report, then answers how it ended. A run whose record
    // is not whole has failed.
    caf::result<RunOutcomePtr>(atom::finish, RunOutcomePtr outcome),
    // The generation is over, and the run goes on: leaves its view to the next METRICS, and ends.
    caf::result<RunViewPtr>(atom::release)>;

/// CHECKPOINTER: one per rank that writes; puts on disk what the rank saves, while training goes
/// on. Detached: it waits for files.
using checkpointer_actor = caf::typed_actor<
    // Writes the rank's copy; the outcome says what failed.
    caf::result<ShardOutcome>(atom::snapshot, SnapshotPtr snapshot),
    // The same piece by piece, from the first to the last; unless `write`, the digest of all
    // parameters alone. The outcome of the last piece counts.
    caf::result<ShardOutcome>(atom::snapshot, StateChunkPtr chunk, bool write),
    // Rank 0: makes a checkpoint of what all ranks have written, and prunes.
    caf::result<CheckpointOutcome>(atom::finish, CheckpointShards parts)>;

/// GENERATOR: one per job, on rank 0's node, where a language model writes samples of text as it is
/// trained; computes them on the host, while training goes on. Detached: its handlers take as long
/// as a token.
using generator_actor = caf::typed_actor<
    // A piece of the parameters, which come from the first to the last; answers whether that was
    // the last, when it has been copied.
    caf::result<bool>(atom::snapshot, StateChunkPtr chunk),
    // With what came: writes the sample of this number of steps. Errors are carried.
    caf::result<GeneratedRecordPtr>(atom::generate, std::int64_t steps),
    // To itself: one token more.
    caf::result<void>(atom::tick)>;

/// WORKER: one per device; enqueues forward and backward.
using worker_actor = caf::typed_actor<
    // Steps below the limit may be run.
    caf::result<void>(atom::advance, std::int64_t limit),
    // A micro-batch is being filled; its event says when it is.
    caf::result<void>(atom::batch, MicroBatchPtr batch),
    // What the bucket needs for this use will be there at the event; null: it is there.
    caf::result<void>(atom::parameters_ready, ParameterRequest use, EventPtr there),
    // Between two steps, none of which is under way: slices are dealt anew. Answered when DATA
    // LOADER knows.
    caf::result<void>(atom::deal, Reassignment next),
    // From its own stream: the slice under way will soon be done, and another is to be asked for.
    caf::result<void>(atom::fetch),
    // Asynchronous training: compute this slice.
    caf::result<void>(atom::deal, Pass slice),
    // Classify the test set with the parameters after `steps` steps; statistics are there at the
    // event.
    caf::result<void>(atom::evaluate, std::int64_t steps, EventPtr statistics),
    // Steps pause: measure again what the node's processors do at most. COORDINATOR is told.
    caf::result<void>(atom::measure),
    // From its own stream: everything of a pass (or of a batch of the test set) is done.
    caf::result<void>(atom::done, PassMode pass_mode, std::int64_t index),
    // From its own stream: the device has failed.
    caf::result<void>(atom::failed, Error error)>;

/// DATA LOADER: one per node. Fills free buffers; a buffer that has been read comes back as a
/// credit.
using data_loader_actor = caf::typed_actor<
    // Give the worker of this rank the passes of training from `first` on, as credits allow.
    caf::result<void>(atom::begin, std::int32_t rank, worker_actor worker, Pass first),
    // The same as a worker is told: give it the passes of this dealing from its first on.
    caf::result<void>(atom::deal, std::int32_t rank, Reassignment next),
    // Give it this one pass, as soon as there is a buffer.
    caf::result<void>(atom::fetch, std::int32_t rank, Pass pass),
    // Give this worker its part of the test set, once.
    caf::result<void>(atom::evaluate, std::int32_t rank),
    // The buffer of a rank's micro-batch is free again.
    caf::result<void>(atom::credit, std::int32_t rank, MicroBatchPtr batch)>;

/// SHARD MANAGER: one per device; owns parameters, gradients, optimizer state and the communicator,
/// and is the only one that issues collectives, but for those inside of a pass (ADR 0011).
using shard_manager_actor = caf::typed_actor<
    // The worker on the same device.
    caf::result<void>(atom::join, worker_actor worker),
    // The worker will run buckets in this order, all of a pass at once; answered by
    // parameters_ready.
    caf::result<void>(atom::need_parameters, ParameterRequest use),
    // At the event the worker has no more need of what it was given for a forward use.
    caf::result<void>(atom::released, ParameterRequest use, EventPtr read),
    // The unit's gradients of this pass will be there at the event.
    caf::result<void>(atom::gradients_ready, Pass pass, UnitId unit, EventPtr written),
    // What the worker measured of a step whose passes are all done.
    caf::result<void>(atom::done, WorkerStep step, SpansPtr computing),
    // From its own stream: the optimizer has applied this step.
    caf::result<void>(atom::done, std::int64_t step),
    // From its own stream: the device or a collective has failed.
    caf::result<void>(atom::failed, Error error),
    // As the worker is told; answered when it is so.
    caf::result<void>(atom::deal, Reassignment next),
    // Asynchronous training. From another rank's SHARD MANAGER, or this one's.
    caf::result<void>(atom::deliver, collectives::MessagePtr message),
    // From its own stream: all that is to be found in a step has been.
    caf::result<void>(atom::propose, std::int64_t step),
    // What was found in all ranks' parts of it.
    caf::result<void>(atom::decided, StepFound of_all),
    // From its own stream: the step can be applied, whatever happens.
    caf::result<void>(atom::vote, std::int64_t step),
    // All ranks can: apply it.
    caf::result<void>(atom::advance, std::int64_t step),
    // Within a round of steps: have all ranks come to one state, behind `steps` steps; answered
    // when it is there.
    caf::result<void>(atom::synchronize, std::int64_t steps),
    // Make the statistics equal on all ranks, then let the worker evaluate what `steps` steps made.
    caf::result<void>(atom::evaluate, std::int64_t steps),
    // Copy what this rank saves of the state after `steps` steps, or give rank 0 what the strategy
    // divides; all of them are committed, none later has begun. Answered when the copy is there and
    // CHECKPOINTER has it; the COORDINATOR is told when it is written.
    caf::result<void>(atom::save, std::int64_t steps),
    // Have one piece of what this rank saves written; answered when it is.
    caf::result<ShardOutcome>(atom::save, std::int64_t steps, std::uint64_t chunk),
    // Rank 0: have one piece of all parameters hashed; answered when it is.
    caf::result<ShardOutcome>(atom::digest, std::int64_t steps, std::uint64_t chunk),
    // The other ranks, at the same time: give rank 0 what the strategy divides of a piece.
    caf::result<void>(atom::contribute, std::int64_t steps, std::uint64_t chunk),
    // Rank 0, while the others contribute: give GENERATOR one piece of all parameters; answers
    // whether that was the last, when GENERATOR has it.
    caf::result<bool>(atom::generate, std::int64_t steps, std::uint64_t chunk),
    // From its own stream: the copy asked for is there.
    caf::result<void>(atom::saved, std::int64_t steps),
    // The generation is over, for this reason: what waits for other ranks fails. Answered when
    // nothing runs any more on its stream, and the COORDINATOR knows of all steps that were made.
    caf::result<void>(atom::abort, Error reason),
    // From its own stream: nothing runs any more.
    caf::result<void>(atom::abort)>;

/// COORDINATOR: one per job; decides how far workers may go, when to evaluate, save and end.
using coordinator_actor = caf::typed_actor<
    // A rank's roles are there, and the METRICS of its node. The job starts when all ranks have
    // joined.
    caf::result<void>(atom::join, RankInfo info, worker_actor worker,
                      shard_manager_actor shard_manager, metrics_actor metrics),
    // Runs the job; answers when it has ended (also when it was stopped), or with what failed.
    caf::result<RunOutcomePtr>(atom::run),
    // One rank has committed a step.
    caf::result<void>(atom::step_committed, StepReport report),
    // One rank has seen its part of the test set.
    caf::result<void>(atom::evaluated, EvaluationReport report),
    // Operations a second that each device of the rank's node does at most, as far as measured.
    caf::result<void>(atom::measure, std::int32_t rank, double peak_operations),
    // One rank has written its part of a checkpoint.
    caf::result<void>(atom::saved, ShardOutcome part),
    // Some role has failed: the job ends.
    caf::result<void>(atom::failed, Error error),
    // A rank's loss is not finite; its error follows.
    caf::result<void>(atom::failed, double loss),
    // Asynchronous training: a rank will soon be free for another slice.
    caf::result<void>(atom::deal, std::int32_t rank),
    // A rank has computed a slice, and sent its gradients.
    caf::result<void>(atom::done, std::int32_t rank, Pass slice, WorkerStep measured),
    // A rank has all gradients of its part of a step, and found this in them.
    caf::result<void>(atom::propose, StepFound by_rank),
    // A rank can apply a step, whatever happens.
    caf::result<void>(atom::vote, std::int32_t rank, std::int64_t step),
    // Finish the steps under way, save, end.
    caf::result<void>(atom::stop),
    // The same, and the job has failed, for this reason.
    caf::result<void>(atom::stop, Error reason),
    // Another generation is wanted: answered when no step is under way, and none begins, and when
    // all are saved, if `save`.
    caf::result<void>(atom::halt, bool save),
    // The generation is over: what fails from now on is of no account.
    caf::result<void>(atom::abort),
    // Nothing of it runs any more: records what has been reported, and answers with what the next
    // COORDINATOR goes on from.
    caf::result<RunTotalsPtr>(atom::release),
    // Where the job stands.
    caf::result<JobStatus>(atom::status)>;

/// What VOTERs of different nodes ask of each other. `last`: the record of the last generation, on
/// whose successor they decide.
using peer_actor = caf::typed_actor<
    // Promise to accept nothing below this ballot. Answered when this voter, too, has lost the
    // leader, unless it is the leader that asks.
    caf::result<VoteReply>(atom::vote, training::GenerationRecord last, std::int64_t ballot),
    // Accept this; answered with the lowest ballot that the voter still accepts.
    caf::result<std::int64_t>(atom::propose, training::GenerationRecord last,
                              RecordProposal record),
    // This is decided.
    caf::result<void>(atom::decided, training::GenerationRecord record),
    // The generation after this one comes together at the node of this address, which was elected
    // by this ballot; of two such nodes the one with the higher ballot counts.
    caf::result<void>(atom::lead, training::GenerationRecord last, std::string address,
                      std::int64_t ballot)>;

/// VOTER: one per daemon; decides with those of other nodes what generation follows the last, and
/// who leads when its leader is gone.
using consensus_actor = caf::typed_actor<
    // As others ask.
    caf::result<VoteReply>(atom::vote, training::GenerationRecord last, std::int64_t ballot),
    caf::result<std::int64_t>(atom::propose, training::GenerationRecord last,
                              RecordProposal record),
    caf::result<void>(atom::decided, training::GenerationRecord record),
    caf::result<void>(atom::lead, training::GenerationRecord last, std::string address,
                      std::int64_t ballot),
    // Another node's VOTER can be asked from now on; answered by this one.
    caf::result<training::Voter, peer_actor>(atom::join, training::Voter who, peer_actor peer),
    // The attempt to meet that of this address is over.
    caf::result<void>(atom::done, std::string address),
    // This node's MEMBERSHIP: have this decided. Errors are carried: it will never be.
    caf::result<void>(atom::propose, training::GenerationRecord record),
    // The same: nodes can come to it.
    caf::result<void>(atom::form),
    // This node leads no more, and takes part in deciding who does; answered when that is decided.
    caf::result<void>(atom::leave),
    // This node has lost the leader of this generation.
    caf::result<void>(atom::failed, std::int64_t generation),
    // At which address do nodes come together after this generation, and what is the last record?
    // Answered when that is known; of one below 0 at once, with no address where it is not. Error:
    // the job has ended.
    caf::result<std::string, training::GenerationRecord>(atom::lead, std::int64_t generation),
    // The job has ended for this node.
    caf::result<void>(atom::finish),
    // What is waited for; empty: nothing.
    caf::result<std::string>(atom::status),
    // The last record that this voter knows of; of number 0: none, or its job has ended.
    caf::result<training::GenerationRecord>(atom::decided)>;

/// What MEMBERSHIP asks of the NODE of a daemon that has joined.
using member_actor = caf::typed_actor<
    // The job has ended, for this node at least.
    caf::result<void>(atom::finish, JobEnd end),
    // The ranks of this generation will not all be connected: nobody need wait for them.
    caf::result<void>(atom::abort, std::int64_t generation, Error error),
    // This generation is over: let go of it, and ask for a seat in the next.
    caf::result<void>(atom::halt, std::int64_t generation, Error reason),
    // This generation has begun, without a place for this node, which waits for one; or it has
    // other voters and spares from now on.
    caf::result<void>(atom::decided, training::GenerationRecord record),
    // Try the links from this node's data plane to others'; answered with those that are broken.
    caf::result<std::vector<BrokenLink>>(atom::probe, ProbeOrder order)>;

/// MEMBERSHIP: one per job, on the leader; who takes part, and who has gone.
using membership_actor = caf::typed_actor<
    // A daemon wants to take part in the next generation; answered when all are there, or with why
    // it may not. Where there is no place for it, it is a spare: answered when there is one. A node
    // that is no spare is refused when its time (NodeInfo::time_left_ms) is over.
    caf::result<training::NodeAssignment>(atom::join, NodeInfo info, member_actor node),
    // Slices of a global batch of the job that has begun, for a node that prepares to join it; 0:
    // it has not begun.
    caf::result<std::int64_t>(atom::begin),
    // Another node has the state that the job goes on from.
    caf::result<void>(atom::fetch),
    // The COORDINATOR is there: all have come together.
    caf::result<void>(atom::lead, coordinator_actor coordinator),
    // The COORDINATOR, once it is there.
    caf::result<coordinator_actor>(atom::lead),
    // A node cannot do its part in this generation, or a rank in what it does: the others go on
    // without it, or nothing will come of the job. Answered as `finish`.
    caf::result<void>(atom::failed, std::int64_t generation, Error error),
    // The same, where ranks waited for each other.
    caf::result<void>(atom::failed, std::int64_t generation, SharedFailure failure),
    // The job has ended: tells the members; answered when those that are there know.
    caf::result<void>(atom::finish, JobEnd end),
    // Finish the steps under way, save, end; or no longer wait for nodes.
    caf::result<void>(atom::stop),
    // This node leaves between two steps, and the others continue. If it leads, the answer comes
    // when those steps are saved. Error: it leads, and the others could not continue, or they are
    // coming together. `waits`: in the latter case it leaves when they train again.
    caf::result<void>(atom::leave, member_actor node, bool waits),
    // What this node waits for; empty when all are there.
    caf::result<WaitStatus>(atom::status, member_actor node),
    // This node waits for its seat no longer, and takes none.
    caf::result<void>(atom::abort, member_actor node)>;

/// FORMER: the helper of a NODE that does what blocks, on a thread of its own: before a generation
/// can train, and after it has.
using generation_builder_actor = caf::typed_actor<
    // Comes together with the other nodes, opens, compiles, connects. Errors are carried.
    caf::result<BuiltGenerationPtr>(atom::form),
    // The job has ended, for all or for this node alone: drops the generation; answered when
    // nothing of it runs any more.
    caf::result<void>(atom::release, bool for_all),
    // The same, but keeps the state that this node has of it, and the run's view, for the next one.
    caf::result<void>(atom::halt, RunViewPtr view),
    // The generation has other voters from now on, which this node has to know if it is started
    // again.
    caf::result<void>(atom::decided, training::GenerationRecord record)>;

/// NODE: one per daemon; supervises the roles on its host.
using node_actor = caf::typed_actor<
    // The MEMBERSHIP that this daemon leads or has joined, and the address of the one that leads.
    // Errors are carried: stopped, its job has ended; network, it has none, or that has failed.
    caf::result<membership_actor, std::string>(atom::join),
    // The daemon at this address would begin a job: which node is to, as this one has it; empty: it
    // takes part in a job of another one. And whether a job has ended here.
    caf::result<std::string, bool>(atom::begin, std::string requester),
    // Another node's VOTER can be asked from now on; answered by this one's.
    caf::result<training::Voter, peer_actor>(atom::join, training::Voter who, peer_actor peer),
    // Takes part in the job of this MEMBERSHIP, at that address; answered when all nodes are there,
    // or when the time (NodeInfo::time_left_ms) is over.
    caf::result<training::NodeAssignment>(atom::join, membership_actor membership,
                                          std::string leader, NodeInfo info),
    // Takes part in generations of a job: forms, trains; answers when the job has ended.
    caf::result<RunOutcomePtr>(atom::run, generation_builder_actor builder),
    // The job has ended elsewhere.
    caf::result<void>(atom::finish, JobEnd end),
    // As a member is told.
    caf::result<void>(atom::abort, std::int64_t generation, Error error),
    caf::result<void>(atom::halt, std::int64_t generation, Error reason),
    caf::result<void>(atom::decided, training::GenerationRecord record),
    caf::result<std::vector<BrokenLink>>(atom::probe, ProbeOrder order),
    // The nodes of this node's job come together at this address.
    caf::result<void>(atom::lead, std::string address),
    // This daemon's VOTER.
    caf::result<void>(atom::vote, training::Voter self, consensus_actor voter),
    // Which process this is.
    caf::result<training::Voter>(atom::vote),
    // Drain: the job finishes its steps, saves and ends.
    caf::result<void>(atom::stop),
    // Drain this node alone: the others go on. Error: they could not.
    caf::result<void>(atom::leave),
    // This daemon is to end: as `leave`, and where the others could not go on as `stop`.
    caf::result<void>(atom::done),
    // Where the job stands.
    caf::result<JobStatus>(atom::status),
    // Its VOTER's last record, for a daemon that would begin a job; of number 0: none.
    caf::result<training::GenerationRecord>(atom::decided)>;

} // namespace troupe::actors

CAF_BEGIN_TYPE_ID_BLOCK(troupe_roles, caf::id_block::troupe::end)
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::worker_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::shard_manager_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::metrics_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::coordinator_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::member_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::membership_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::generation_builder_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::heartbeat_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::peer_actor))
  CAF_ADD_TYPE_ID(troupe_roles, (troupe::actors::consensus_actor))
CAF_END_TYPE_ID_BLOCK(troupe_roles)
