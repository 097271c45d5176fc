#include "actors/membership/entrants.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::actors {

namespace {

std::string in_words(const std::string& node, const std::vector<BrokenLink>& broken) {
  constexpr std::size_t most_named = 4;
  std::string links;
  for (std::size_t i = 0; i < std::min(broken.size(), most_named); ++i)
    links += fmt::format("{}{} to {}: {}", i == 0 ? "" : "; ", broken[i].from, broken[i].to,
                         broken[i].why);
  if (broken.size() > most_named)
    links += fmt::format("; and {} more", broken.size() - most_named);
  return fmt::format("node {} is not admitted, because data connections cannot be made ({}); check "
                     "cluster.listen.advertise, cluster.listen.data_port and firewalls",
                     node, links);
}

/// Whether only the entrant's links are to blame. A member that has not answered may be at fault
/// itself.
bool is_of_entrant(const std::vector<BrokenLink>& broken, const std::string& entrant) {
  return std::ranges::none_of(broken, [&](const BrokenLink& link) {
    return link.from != entrant && link.why == no_answer;
  });
}

} // namespace

bool Entrants::is_replay(const NodeInfo& info) const {
  const auto last = attempts_.find(info.process);
  return last != attempts_.end() && info.attempt <= last->second;
}

Status Entrants::check(const NodeInfo& info, const Member* known) const {
  if (job_.closed)
    return failure(refusal(info));
  if (dismissed_.contains(info.process))
    return fail(Errc::stopped, "the other nodes continue without this node");
  if (known != nullptr)
    return known->address == info.address
               ? Status{}
               : fail(Errc::invalid_input, "{} takes part as {}", info.address, known->address);
  TROUPE_TRY(check_entry(info));
  return check_job(info);
}

/// Returns why no node is admitted any more; or a wrong version or config, which is the more useful
/// error. Precondition: none is admitted.
Error Entrants::refusal(const NodeInfo& info) const {
  const auto same =
      job_.has_begun() && !list().nodes().empty() ? list().check_same_job(info) : Status{};
  return same ? *job_.closed : same.error();
}

Status Entrants::check_entry(const NodeInfo& info) const {
  if (auto failed = failed_proofs_.of(info.data, job_.now); !failed.empty())
    return failure({Errc::network, std::move(failed), {info.address, "membership"}});
  const auto has_name = [&](const Entrant& other) {
    return other.node.info.address == info.address;
  };
  if (std::ranges::any_of(entrants_, has_name))
    return fail(Errc::network, "{} is already being admitted", info.address);
  constexpr std::size_t most_entrants = 64;
  if (entrants_.size() >= most_entrants)
    return fail(Errc::network, "too many join requests: {} other nodes are being admitted",
                entrants_.size());
  return {};
}

/// Checks what needs no other node.
Status Entrants::check_job(const NodeInfo& info) const {
  if (info.workers == 0)
    return list().nodes().empty() ? Status{} : list().check_same_job(info);
  if (!job_.has_begun())
    TROUPE_TRY(list().check(info));
  else if (!list().nodes().empty()) // else it will lead
    TROUPE_TRY(list().check_same_job(info));
  TROUPE_TRY(check_name(info));
  TROUPE_TRY(check_slices(info));
  return job_.has_begun() || !list().nodes().empty() ? check_data(info) : Status{};
}

/// A name in use is a network error, because the process that has it may turn out to be lost.
Status Entrants::check_name(const NodeInfo& info) const {
  const auto has_name = [&](const Spare& spare) { return spare.info.address == info.address; };
  if (participants_.find(info.address) != nullptr ||
      std::ranges::any_of(participants_.spares(), has_name))
    return fail(Errc::network, "{} already takes part in the job", info.address);
  return {};
}

Status Entrants::check_slices(const NodeInfo& info) const {
  if (!job_.has_begun() || list().nodes().empty())
    return {};
  const auto leaders = list().nodes().front().workers;
  if (const auto slices = job_.generation->slices; leaders + info.workers > slices)
    return fail(Errc::invalid_input,
                "a global batch of {} slices (data.slices) is too small for the leader's {} "
                "workers and {} more",
                slices, leaders, info.workers);
  return {};
}

Status Entrants::check_data(const NodeInfo& info) const {
  return MemberList::check_same_data(info, job_.has_begun() ? job_.generation->training
                                                            : list().nodes().front().training);
}

std::optional<Error> Entrants::leader_is_behind(const NodeInfo& info) const {
  if (job_.has_begun() || job_.closed || list().nodes().empty() || info.workers == 0 ||
      check_data(info) || !list().check_same_job(info))
    return std::nullopt;
  const auto& leader = list().nodes().front();
  if (info.offer.step <= leader.offer.step && info.offer.parts.empty())
    return std::nullopt;
  return MemberList::check_same_data(leader, info.training).error();
}

bool Entrants::needs_proof(const NodeInfo& info) const {
  if (info.workers == 0 || list().nodes().empty())
    return false;
  const auto* place = job_.inherits ? job_.place_of(info.address) : nullptr;
  return place == nullptr || place->process != info.process || place->data != info.data;
}

Entrants::All::iterator Entrants::find(NodeId node) {
  return std::ranges::find(entrants_, node,
                           [](const Entrant& each) { return each.node.member.id; });
}

void Entrants::ask_again(const Spare& node) {
  const auto entrant = find(node.member.id);
  if (entrant == entrants_.end())
    return;
  actions_.refuse(entrant->node.member.request, replaced_by_later());
  entrant->node.member.request = node.member.request;
  entrant->node.info = node.info;
}

const Member* Entrants::find_member(NodeId node) const {
  for (const auto& entrant : entrants_)
    if (entrant.node.member.id == node)
      return &entrant.node.member;
  return nullptr;
}

std::vector<NodeId> Entrants::nodes() const {
  std::vector<NodeId> all;
  for (const auto& entrant : entrants_)
    all.push_back(entrant.node.member.id);
  return all;
}

std::vector<NodeId> Entrants::proven() const {
  std::vector<NodeId> proven;
  for (const auto& entrant : entrants_)
    if (entrant.is_proven)
      proven.push_back(entrant.node.member.id);
  return proven;
}

std::optional<Spare> Entrants::take(NodeId node) {
  const auto found = find(node);
  if (found == entrants_.end())
    return std::nullopt;
  auto entrant = std::move(found->node);
  entrants_.erase(found);
  return entrant;
}

/// A node that was left out waits before it asks again.
training::NodeAssignment Entrants::refusal_of(const NodeInfo& info, const Error& error) const {
  return {.refused = error,
          .left_out = error.code == Errc::network && left_out_.contains(info.process)};
}

/// Logs the same problem of a node at most once a minute, because the node may ask repeatedly.
void Entrants::report_problem(const std::string& node, const std::string& problem) {
  if (problems_reported_.of(node, job_.now) == problem)
    return;
  problems_reported_.note(node, problem, job_.now);
  actions_.say(problem);
}

void Entrants::refuse(Spare node, const Error& error) {
  report_problem(node.info.address, error.message);
  actions_.assign(node.member.request, refusal_of(node.info, error));
  participants_.stop_waiting(node.info.address);
}

/// Logs what a person has to change.
void Entrants::refuse_request(Spare& node, const Error& error) {
  if (const auto& name = node.info.address; error.exit_code() == 2)
    report_problem(name, fmt::format("node {} is refused: {}", name, error.message));
  actions_.assign(node.member.request, refusal_of(node.info, error));
}

void Entrants::refuse_all(const Error& error) {
  for (auto& entrant : std::exchange(entrants_, {}))
    actions_.refuse(entrant.node.member.request, error);
}

void Entrants::prove_next() {
  const auto next = std::ranges::find(entrants_, false, &Entrant::is_proven);
  if (proof_ != 0 || job_.ended || next == entrants_.end())
    return;
  const auto& [info, member] = next->node;
  proving_ = member.id;
  const auto proof =
      probes_.of_entrant({member.id, {info.address, info.data}}, participants_.link_ends());
  if (proof)
    proof_ = *proof;
  else
    refuse(*take(proving_), proof.error());
}

std::optional<NodeId> Entrants::end_proof(const Probes::Outcome& outcome) {
  proof_ = 0;
  const auto entrant = find(proving_);
  if (entrant == entrants_.end())
    return std::nullopt;
  auto broken = outcome.broken;
  std::ranges::copy(outcome.silent, std::back_inserter(broken));
  const auto& info = entrant->node.info;
  std::erase_if(broken, [&](const BrokenLink& link) { // links of members that are lost since
    const auto& other = link.from == info.address ? link.to : link.from;
    return other != info.address && participants_.find(other) == nullptr;
  });
  failed_proofs_.forget(info.data);
  if (!broken.empty()) {
    refuse_unreached(entrant, broken);
    return std::nullopt;
  }
  entrant->is_proven = true;
  reached_ports_[info.address] = info.data;
  if (!has_to_be_stable(*entrant))
    return entrant->node.member.id;
  entrant->stable_at = job_.now + job_.rules.timeouts.admission_delay();
  return std::nullopt;
}

void Entrants::refuse_unreached(All::iterator entrant, const std::vector<BrokenLink>& broken) {
  auto node = *take(entrant->node.member.id);
  const auto& [info, member] = node;
  auto problem = in_words(info.address, broken);
  // Whether all members reached this port before. A later process of the node may have another.
  const auto reached = reached_ports_.find(info.address);
  const bool was_reached = reached != reached_ports_.end() && reached->second == info.data;
  if (is_of_entrant(broken, info.address) && !was_reached)
    failed_proofs_.note(info.data, problem, job_.now);
  const Error error{Errc::network, std::move(problem), {info.address, "membership"}};
  refuse(std::move(node), error);
}

/// Whether a running job would halt for the entrant, so that it has to stay connected for a while
/// first.
bool Entrants::has_to_be_stable(const Entrant& entrant) const {
  return job_.rules.timeouts.admission_delay().count() > 0 && !entrant.is_stable &&
         job_.has_begun() && job_.phase != MembershipPhase::gathering &&
         participants_.lacks_place(entrant.node.info.workers).empty();
}

void Entrants::wake() {
  for (auto& entrant : entrants_)
    if (is_due(entrant.stable_at, job_.now)) {
      entrant.is_stable = true;
      entrant.is_proven = false;
    }
}

std::optional<Time> Entrants::next_wake() const {
  std::optional<Time> next;
  for (const auto& entrant : entrants_)
    next = earlier(next, entrant.stable_at);
  return next;
}

} // namespace troupe::actors
