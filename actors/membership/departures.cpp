#include "actors/membership/departures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace troupe::actors {

namespace {

std::string ranks(const training::MemberInfo& place) {
  const auto last = place.first_rank + place.workers - 1;
  return place.workers == 1 ? fmt::format("rank {}", last)
                            : fmt::format("ranks {} to {}", place.first_rank, last);
}

} // namespace

std::optional<Spare> Departures::take_waiting(NodeId node) {
  auto waiting = participants_.take_waiting(node);
  return waiting ? std::move(waiting) : entrants_.take(node);
}

bool Departures::lose_waiting(NodeId node) {
  const bool is_entrant = entrants_.find_member(node) != nullptr;
  auto lost = take_waiting(node);
  if (!lost)
    return false;
  const auto* kind = is_entrant ? "joining node" : lost->info.workers == 0 ? "witness" : "spare";
  const auto line = fmt::format("node {}, a {}, was lost", lost->info.address, kind);
  actions_.say(line);
  actions_.refuse(lost->member.request, {Errc::network, line});
  if (is_entrant) // a new leader no longer waits for it
    participants_.stop_waiting(lost->info.address);
  return true;
}

std::vector<NodeId> Departures::refuse_late() {
  auto late = participants_.take_late();
  for (const auto node : late) {
    const auto missing = participants_.capacity().waiting_for();
    actions_.refuse(
        participants_.find(node)->request,
        {Errc::network,
         fmt::format("not admitted to the job of {} in time{}{}",
                     participants_.members().front().address, missing.empty() ? "" : ": ", missing),
         /*where=*/{}, Whose::there});
  }
  return late;
}

Error Departures::loss_of(const Member& member, const std::string& why) const {
  const auto* place = job_.place_of(member.address);
  const auto name =
      place == nullptr ? member.address : fmt::format("{} ({})", member.address, ranks(*place));
  return {Errc::network, fmt::format("node {} was lost: {}", name, why), {.node = member.address}};
}

void Departures::lose(Member& member, const Error& error) {
  actions_.refuse(member.request, error);
  participants_.remove(member);
}

void Departures::dismiss(Member& member, JobEnd end) {
  end.for_all = false;
  actions_.refuse(member.request, end.error.value_or(Error{Errc::stopped, "asked to leave"}));
  actions_.add(action::Finish{member.id, std::move(end)});
  history_.dismiss(participants_.info(member).process);
  participants_.remove(member);
}

void Departures::let_leave() {
  auto& members = participants_.members();
  const auto leaves = [&] { return std::ranges::find(members, true, &Member::leaves); };
  for (auto member = leaves(); member != members.end(); member = leaves()) {
    dismiss(*member, {.result = {.status = "stopped"}});
    if (job_.rules.leave_one_by_one)
      return;
  }
}

void Departures::dismiss_absent() {
  for (const auto& absent : std::set{participants_.list().absent()}) {
    auto* member = participants_.find(absent);
    if (member == nullptr || participants_.leads(*member))
      continue;
    const Error error{
        Errc::network,
        fmt::format("node {} has not rejoined within cluster.timeouts.rejoin", absent),
        {.node = absent}};
    actions_.say(error.message);
    dismiss(*member, failed_end(error));
  }
}

void Departures::leave_behind(NodeId newcomer) {
  auto* member = participants_.find(newcomer);
  if (!job_.gathers() || member == nullptr)
    return;
  const Error error{Errc::network,
                    fmt::format("node {} no longer answers, and is left out", member->address),
                    {member->address, "membership"}};
  actions_.say(error.message);
  lose(*member, error);
}

/// The leader comes last, so that the others gather at another node.
bool Departures::leave_out(const FaultSearch::Evidence& evidence) {
  for (const auto& [address, why] : evidence) {
    actions_.say(fmt::format("node {} is left out: {}", address, why));
    records_.add_reason(fmt::format("; node {} is left out: {}", address, why));
    auto* member = participants_.find(address);
    if (participants_.leads(*member))
      continue;
    refuse_for_now(*member, why);
    participants_.remove(*member);
  }
  auto& members = participants_.members();
  const auto leader = members.empty() ? evidence.end() : evidence.find(members.front().address);
  if (leader == evidence.end())
    return false;
  refuse_for_now(members.front(), leader->second);
  return true;
}

void Departures::refuse_for_now(Member& member, const std::string& why) {
  history_.leave_out(participants_.info(member).process, member.id);
  actions_.assign(member.request,
                  {.refused = Error{Errc::network, "left out: " + why, {.node = member.address}},
                   .left_out = true});
}

} // namespace troupe::actors
