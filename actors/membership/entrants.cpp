#include "actors/membership/entrants.hpp"

#include "actors/membership/entry_checks.hpp"
#include "actors/membership/limits.hpp"
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
                     "cluster.advertise, cluster.data_port and firewalls",
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

Status Entrants::check(const NodeInfo& info, const Member* known) const {
  const EntryChecks checks{job_, participants_};
  if (job_.closed)
    return failure(checks.refusal(info));
  if (history_.was_dismissed(info.process))
    return fail(Errc::stopped, "the other nodes continue without this node");
  if (known != nullptr)
    return known->address == info.address
               ? Status{}
               : fail(Errc::invalid_input, "{} takes part as {}", info.address, known->address);
  TROUPE_TRY(check_entry(info));
  return checks.check(info);
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

bool Entrants::needs_proof(const NodeInfo& info) const {
  if (info.workers == 0 || participants_.list().nodes().empty())
    return false;
  const auto* place = job_.inherits ? job_.place_of(info.address) : nullptr;
  return place == nullptr || place->process != info.process || place->data != info.data;
}

Entrants::All::const_iterator Entrants::find(NodeId node) const {
  return std::ranges::find(entrants_, node,
                           [](const Entrant& each) { return each.node.member.id; });
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
  const auto entrant = find(node);
  return entrant == entrants_.end() ? nullptr : &entrant->node.member;
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

void Entrants::refuse(Spare node, const Error& error) {
  history_.report_problem(node.info.address, error.message);
  actions_.assign(node.member.request, history_.refusal_of(node.info, error));
  participants_.stop_waiting(node.info.address);
}

/// Logs what a person has to change.
void Entrants::refuse_request(Spare& node, const Error& error) {
  if (const auto& name = node.info.address; error.exit_code() == 2)
    history_.report_problem(name, fmt::format("node {} is refused: {}", name, error.message));
  actions_.assign(node.member.request, history_.refusal_of(node.info, error));
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
  const auto& [info, member] = entrant->node;
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
    return member.id;
  entrant->stable_at = job_.now + job_.rules.timeouts.admission_delay();
  return std::nullopt;
}

void Entrants::refuse_unreached(All::iterator entrant, const std::vector<BrokenLink>& broken) {
  auto node = *take(entrant->node.member.id);
  const auto& [info, member] = node;
  auto problem = in_words(info.address, broken);
  if (is_of_entrant(broken, info.address) && !was_reached(info.address, info.data))
    failed_proofs_.note(info.data, problem, job_.now);
  const Error error{Errc::network, std::move(problem), {info.address, "membership"}};
  refuse(std::move(node), error);
}

/// Whether all members reached this node at this port before. A later process of the node may have
/// another port.
bool Entrants::was_reached(const std::string& node, const std::string& port) const {
  const auto found = reached_ports_.find(node);
  return found != reached_ports_.end() && found->second == port;
}

/// Whether a running job would halt for the entrant, so that it has to stay connected for a while
/// first.
bool Entrants::has_to_be_stable(const Entrant& entrant) const {
  return job_.rules.timeouts.admission_delay().count() > 0 && !entrant.is_stable &&
         job_.has_begun() && job_.phase != MembershipPhase::gathering &&
         participants_.capacity().lacks_place(entrant.node.info.workers).empty();
}

void Entrants::wake() {
  for (auto& entrant : entrants_)
    if (entrant.stable_at && *entrant.stable_at <= job_.now) {
      entrant.stable_at.reset();
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
