// The answers of a node about its job, and its part in it.
#include "actors/caf_error.hpp"
#include "actors/node/node.hpp"

#include <fmt/format.h>

namespace troupe::actors {

namespace {

/// Returns the answer of a daemon whose job has ended. After a failure, or if the job continues
/// without this node, the asking node may find it elsewhere.
Error no_job_after(const JobEnd& end) {
  const bool is_done = end.for_all && end.result.status != "failed";
  if (is_done)
    return {Errc::stopped, fmt::format("the job has ended already: {}", end.result.status)};
  return {Errc::network,
          end.for_all ? "its job has failed, and it is shutting down"
                      : "it has left its job, and is shutting down",
          /*where=*/{}, Whose::there};
}

JobStatus status_of_wait(const NodeContext& node, WaitStatus wait) {
  JobStatus status{.name = node.setup.run, .phase = wait.what.empty() ? "starting" : wait.what};
  status.wait = std::move(wait);
  return status;
}

} // namespace

/// The leader's MEMBERSHIP reports the end of the job itself. Another node's handle may be of an
/// actor that is lost.
caf::result<membership_actor, std::string> NodeState::membership() const {
  if (end_)
    return to_caf_error(no_job_after(*end_));
  if (node_.membership)
    return {node_.membership, node_.leader};
  return to_caf_error({Errc::network, "it is still looking for a job itself", {}, Whose::there});
}

/// Answers a daemon that would begin a job.
NodeState::View NodeState::view_for(const std::string& requester) const {
  auto view =
      node_.self
          ->make_response_promise<training::Voter, std::string, bool, training::GenerationRecord>();
  const auto answer = [view, self = node_.identity, begins = who_begins(requester),
                       has_ended = end_.has_value()](const training::GenerationRecord& last) {
    View{view}.deliver(self, begins, has_ended, last);
  };
  const training::GenerationRecord none{.number = 0};
  if (node_.consensus && !end_)
    node_.self->request(node_.consensus, node_.setup.timeouts.detection, atom::decided_v)
        .then(answer, [answer, none](const caf::error&) { answer(none); });
  else
    answer(none);
  return view;
}

/// Returns the node that should begin a job; empty: this one takes part in one. With a single
/// address in cluster.join this node never begins one, and agrees with any asking node.
std::string NodeState::who_begins(const std::string& requester) const {
  if (node_.membership && !end_ && node_.leader != requester)
    return {};
  const auto& join = node_.setup.join;
  if (join.empty())
    return node_.identity.address;
  return join.size() == 1 ? requester : join.front();
}

caf::result<training::NodeAssignment>
NodeState::take_part(const membership_actor& membership, std::string leader, const NodeInfo& info) {
  if (!membership)
    return no_handle();
  if (node_.membership != membership)
    lost_.watch(membership);
  node_.membership = membership;
  node_.leader = std::move(leader);
  assignment_of_ = 0;
  left_out_.clear();
  if (end_) // it was told the end while it halted
    return training::NodeAssignment{.refused = why_ended()};
  enter(NodeEvent::request);
  auto answer = request_.send(info);
  stops_.repeat();
  return answer;
}

void NodeState::take_assignment(const training::NodeAssignment& assignment) {
  if (assignment.refused) {
    enter(NodeEvent::refusal);
    if (assignment.left_out)
      left_out_ = assignment.refused->message;
    // If it has led, the others lose it together with its MEMBERSHIP, and need its vote to decide
    // which node leads.
    if (assignment.left_out && node_.consensus && node_.leads())
      node_.self->send(node_.consensus, atom::leave_v);
    return leave();
  }
  const auto& record = assignment.generation;
  assignment_of_ = known_ = record.number;
  voters_ = record.voters.size();
  enter(NodeEvent::assignment);
  note_halted();
  if (node_.setup.data_plane) // now, so that it can be cancelled
    node_.setup.data_plane->join_group(record.number, record.secret);
  if (node_.consensus)
    node_.self->send(node_.consensus, atom::decided_v, record);
}

/// Stops watching that MEMBERSHIP: this node may request another assignment.
void NodeState::leave() {
  if (node_.membership)
    node_.self->demonitor(node_.membership);
  node_.membership = nullptr;
}

/// Answers after the end of the job, when the leader's COORDINATOR may be gone, from the end
/// itself.
caf::result<JobStatus> NodeState::status() {
  if (end_)
    return JobStatus{.name = node_.setup.run,
                     .phase = "ended",
                     .generation = known_,
                     .loss = end_->result.loss,
                     .samples_per_second = end_->result.samples_per_second,
                     .error = end_->error ? end_->error->message : "",
                     .wait = node_.wait()};
  if (!left_out_.empty())
    return status_of_wait(node_, {left_out_});
  if (node_.coordinator && !ended_)
    return node_.self->delegate(node_.coordinator, atom::status_v);
  auto promise = node_.self->make_response_promise<JobStatus>();
  if (node_.coordinator)
    node_.self->request(node_.coordinator, node_.setup.timeouts.detection, atom::status_v)
        .then(
            [this, promise](JobStatus& status) mutable {
              status.wait = node_.wait();
              promise.deliver(std::move(status));
            },
            [promise](const caf::error& error) mutable { promise.deliver(error); });
  else if (node_.membership)
    ask_membership(promise);
  else
    ask_consensus(promise);
  return promise;
}

/// If MEMBERSHIP does not answer, the status contains what this node knows itself.
void NodeState::ask_membership(caf::typed_response_promise<JobStatus> promise) {
  node_.self
      ->request(node_.membership, node_.setup.timeouts.detection, atom::status_v, node_.member())
      .then(
          [this, promise](WaitStatus& told) mutable {
            if (told.what.empty())
              return ask_consensus(promise);
            request_.complete(told);
            promise.deliver(status_of_wait(node_, std::move(told)));
          },
          [this, promise](const caf::error&) mutable { ask_consensus(promise); });
}

void NodeState::ask_consensus(caf::typed_response_promise<JobStatus> promise) {
  auto wait = node_.wait();
  if (!node_.consensus)
    return promise.deliver(status_of_wait(node_, std::move(wait)));
  node_.self->request(node_.consensus, node_.setup.timeouts.detection, atom::status_v)
      .then(
          [this, promise, wait](std::string& waiting) mutable {
            if (!waiting.empty())
              wait.what = std::move(waiting);
            promise.deliver(status_of_wait(node_, std::move(wait)));
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
}

} // namespace troupe::actors
