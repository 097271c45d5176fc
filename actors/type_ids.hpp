/// CAF type ids of our messages. Append only: daemons of the same version must agree on them.
#pragma once

#include "actors/cluster_messages.hpp"
#include "actors/consensus/vote_reply.hpp"
#include "actors/inspect.hpp"
#include "actors/job_status.hpp"
#include "actors/membership/links.hpp"
#include "actors/messages.hpp"
#include "actors/stop_reason.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/records/epoch.hpp"
#include "metrics/records/generated.hpp"
#include "metrics/records/recovery.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"
#include "metrics/report/history.hpp"
#include "training/node_assignment.hpp"

#include <caf/all.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <variant>

namespace troupe::actors {

/// The end of a run: its summary, and the error if it failed.
struct RunOutcome {
  metrics::RunSummary summary;
  std::optional<Error> error;
  bool built = true; ///< false: nothing was trained, and the run has no files
};

/// CHECKPOINTER releases the chunks.
using SnapshotPtr = std::shared_ptr<training::Snapshot>;
// Shared between roles of one process. The pointee never changes after sending.
using MicroBatchPtr = std::shared_ptr<const training::MicroBatch>;
using StateChunkPtr = std::shared_ptr<const training::StateChunk>;
/// An event of a run, for METRICS.
using RunRecord = std::variant<metrics::StepRecord, metrics::EpochRecord, metrics::RecoveryRecord,
                               metrics::GeneratedRecord, metrics::CheckpointRecord>;
using RunRecordPtr = std::shared_ptr<const RunRecord>;
using GeneratedRecordPtr = std::shared_ptr<const metrics::GeneratedRecord>;
/// The spans in which the worker computed, in order.
using SpansPtr = std::shared_ptr<const std::vector<Span>>;
using RunOutcomePtr = std::shared_ptr<const RunOutcome>;
/// The totals of a run over its earlier generations (roles/coordinator.hpp).
struct RunTotals;
using RunTotalsPtr = std::shared_ptr<const RunTotals>;
/// The outputs of a run: console, log, folder, page, exposition (roles/run_view.hpp).
class RunView;
using RunViewPtr = std::shared_ptr<RunView>;
/// The blocking work of NODE (node/node_work.hpp).
class NodeWork;
using NodeWorkPtr = std::shared_ptr<NodeWork>;
/// A function that an actor calls when a task or a stream has come this far (resume_in.hpp).
using FollowUp = std::function<void()>;
using FollowUpPtr = std::shared_ptr<const FollowUp>;
using ::troupe::EventPtr;

} // namespace troupe::actors

CAF_BEGIN_TYPE_ID_BLOCK(troupe, first_custom_type_id)

  CAF_ADD_TYPE_ID(troupe, (troupe::Error))
  CAF_ADD_TYPE_ID(troupe, (troupe::Where))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::WorkerStep))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::StepReport))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::EvaluationReport))
  CAF_ADD_TYPE_ID(troupe, (troupe::metrics::CheckpointRecord))
  CAF_ADD_TYPE_ID(troupe, (troupe::nn::PassMode))
  CAF_ADD_TYPE_ID(troupe, (troupe::MemoryUse))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::JobStatus))

  CAF_ADD_TYPE_ID(troupe, (troupe::EventPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::MicroBatchPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::SnapshotPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::RunRecordPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::RunOutcomePtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::NodeWorkPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::FollowUpPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::SpansPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::ParameterRequest))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::WorkerSummaries))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::RankInfo))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::NodeInfo))
  CAF_ADD_TYPE_ID(troupe, (troupe::training::NodeAssignment))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::JobEnd))
  CAF_ADD_TYPE_ID(troupe, (troupe::metrics::NodeRecord))
  CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::metrics::NodeRecord>))

  CAF_ADD_ATOM(troupe, troupe::atom, advance)
  CAF_ADD_ATOM(troupe, troupe::atom, batch)
  CAF_ADD_ATOM(troupe, troupe::atom, begin)
  CAF_ADD_ATOM(troupe, troupe::atom, credit)
  CAF_ADD_ATOM(troupe, troupe::atom, done)
  CAF_ADD_ATOM(troupe, troupe::atom, evaluate)
  CAF_ADD_ATOM(troupe, troupe::atom, evaluated)
  CAF_ADD_ATOM(troupe, troupe::atom, failed)
  CAF_ADD_ATOM(troupe, troupe::atom, finish)
  CAF_ADD_ATOM(troupe, troupe::atom, gradients_ready)
  CAF_ADD_ATOM(troupe, troupe::atom, join)
  CAF_ADD_ATOM(troupe, troupe::atom, need_parameters)
  CAF_ADD_ATOM(troupe, troupe::atom, parameters_ready)
  CAF_ADD_ATOM(troupe, troupe::atom, run)
  CAF_ADD_ATOM(troupe, troupe::atom, saved)
  CAF_ADD_ATOM(troupe, troupe::atom, snapshot)
  CAF_ADD_ATOM(troupe, troupe::atom, status)
  CAF_ADD_ATOM(troupe, troupe::atom, step_committed)
  CAF_ADD_ATOM(troupe, troupe::atom, stop)
  CAF_ADD_ATOM(troupe, troupe::atom, tick)
  CAF_ADD_ATOM(troupe, troupe::atom, released)
  CAF_ADD_ATOM(troupe, troupe::atom, fetch)
  CAF_ADD_ATOM(troupe, troupe::atom, lead)

  CAF_ADD_TYPE_ID(troupe, (troupe::actors::StateChunkPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::metrics::JobPhase))
  CAF_ADD_ATOM(troupe, troupe::atom, abort)
  CAF_ADD_ATOM(troupe, troupe::atom, gather)
  CAF_ADD_ATOM(troupe, troupe::atom, release)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::ShardOutcome))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::CheckpointShards))
  CAF_ADD_ATOM(troupe, troupe::atom, save)
  CAF_ADD_ATOM(troupe, troupe::atom, alive)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::RankCollective))
  CAF_ADD_ATOM(troupe, troupe::atom, halt)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::RunTotalsPtr))
  CAF_ADD_ATOM(troupe, troupe::atom, leave)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::RunViewPtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::training::GenerationRecord))
  CAF_ADD_TYPE_ID(troupe, (troupe::training::Voter))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::RecordProposal))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::VoteReply))
  CAF_ADD_TYPE_ID(troupe, (troupe::metrics::HistoryPlace))
  CAF_ADD_TYPE_ID(troupe, (troupe::metrics::HistoryChunk))
  CAF_ADD_ATOM(troupe, troupe::atom, vote)
  CAF_ADD_ATOM(troupe, troupe::atom, propose)
  CAF_ADD_ATOM(troupe, troupe::atom, decided)
  CAF_ADD_ATOM(troupe, troupe::atom, synchronize)
  CAF_ADD_TYPE_ID(troupe, (troupe::data::SliceAssignment))
  CAF_ADD_ATOM(troupe, troupe::atom, assign)
  CAF_ADD_TYPE_ID(troupe, (troupe::collectives::MessagePtr))
  CAF_ADD_TYPE_ID(troupe, (troupe::training::StepResults))
  CAF_ADD_ATOM(troupe, troupe::atom, deliver)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::GeneratedRecordPtr))
  CAF_ADD_ATOM(troupe, troupe::atom, generate)
  CAF_ADD_ATOM(troupe, troupe::atom, measure)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::WaitStatus))
  CAF_ADD_ATOM(troupe, troupe::atom, probe)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::ProbeOrder))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::BrokenLink))
  CAF_ADD_TYPE_ID(troupe, (std::vector<troupe::actors::BrokenLink>))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::SharedFailure))
  CAF_ADD_ATOM(troupe, troupe::atom, follow)
  CAF_ADD_ATOM(troupe, troupe::atom, introduce)
  CAF_ADD_ATOM(troupe, troupe::atom, lost)
  CAF_ADD_ATOM(troupe, troupe::atom, record)
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::ChunkUse))
  CAF_ADD_TYPE_ID(troupe, (troupe::actors::StopReason))

CAF_END_TYPE_ID_BLOCK(troupe)

/// Objects that are shared within a process must not leave it.
template <class T>
struct caf::allowed_unsafe_message_type<std::shared_ptr<T>> : std::true_type {};
// Sent only between the roles of one rank.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::actors::ParameterRequest)
