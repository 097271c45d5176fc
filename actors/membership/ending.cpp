#include "actors/membership/ending.hpp"

#include "actors/membership/blame.hpp"

#include <fmt/format.h>

namespace troupe::actors {

void Ending::refuse_all(const Error& error) {
  job_.closed = error;
  handover_.answer(error);
  participants_.refuse_all(error);
  entrants_.refuse_all(error);
}

void Ending::quit() {
  job_.ended = true;
  actions_.add(action::Quit{});
}

void Ending::fail(const Error& error, RequestId request) {
  if (!unstarted_)
    cancel_connecting(error);
  const bool stopped = unstarted_->code == Errc::stopped;
  end({.result = {.status = stopped ? "stopped" : "failed"},
       .error = stopped ? std::nullopt : unstarted_},
      request);
}

bool Ending::is_due_after(const Error& error) const {
  const auto& members = participants_.members();
  return !job_.trained && !is_between_nodes(error.code) && error.code != Errc::stopped &&
         !members.empty() && error.where.node == members.front().address;
}

void Ending::cancel_connecting(const Error& error) {
  unstarted_ = error;
  if (!job_.has_begun())
    return;
  for (const auto& member : participants_.members())
    actions_.add(action::Abort{member.id, job_.generation->number, error});
}

void Ending::end(const JobEnd& end, std::optional<RequestId> request) {
  if (request)
    requests_.push_back(*request);
  if (is_told_)
    return answer_if_all_know();
  if (decided_)
    return;
  const bool decides = job_.rules.has_voters && job_.has_begun() && !job_.ended &&
                       job_.phase != MembershipPhase::deciding &&
                       job_.generation->voters.size() > 1;
  if (!decides)
    return tell(end);
  job_.ended = true; // nodes that end from now on are not lost
  job_.closed = Error{Errc::network, "the job is about to end"};
  decided_ = end;
  limit_ = job_.now + job_.rules.timeouts.detection;
}

void Ending::wake() {
  if (is_due(limit_, job_.now))
    tell_decided();
}

void Ending::tell_decided() {
  if (const auto* end = deciding())
    tell(*end);
}

void Ending::tell(const JobEnd& end) {
  is_told_ = job_.ended = true;
  job_.closed =
      end.result.status == "failed"
          ? Error{Errc::network, "the job has failed, and its nodes are shutting down"}
          : Error{Errc::stopped, fmt::format("the job has ended already: {}", end.result.status)};
  handover_.answer(*job_.closed);
  for (auto& member : participants_.members()) {
    actions_.refuse(member.request, *job_.closed);
    open_.insert(member.id);
  }
  for (const auto& nodes : {participants_.waiting(), entrants_.nodes()})
    open_.insert(nodes.begin(), nodes.end());
  for (const auto node : open_)
    actions_.add(action::Finish{node, end, /*answers=*/true});
  for (const auto& [process, node] : entrants_.left_out())
    actions_.add(action::Finish{node, end});
  participants_.refuse_waiting(*job_.closed);
  entrants_.refuse_all(*job_.closed);
  answer_if_all_know();
}

void Ending::heard(NodeId node) {
  if (open_.erase(node) > 0)
    answer_if_all_know();
}

void Ending::answer_if_all_know() {
  if (!is_told_ || !open_.empty())
    return;
  for (const auto request : std::exchange(requests_, {}))
    actions_.add(action::Answer{request});
}

} // namespace troupe::actors
