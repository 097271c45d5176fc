// Decisions of the voters on a generation, and the takeover from a lost leader.
#include "actors/caf_error.hpp"
#include "actors/membership/membership.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

std::int64_t MembershipState::next_number() const {
  auto last = has_begun() ? generation_->number : 0;
  for (const auto& node : member_list_.nodes())
    last = std::max(last, node.generation);
  return last + 1;
}

Result<training::GenerationRecord> MembershipState::next_record() {
  TROUPE_TRY(auto secret, collectives::make_secret());
  const auto slices = has_begun() ? generation_->slices : setup_.slices(member_list_.workers());
  auto record = member_list_.generation(next_number(), std::move(secret), slices);
  record.training = has_begun() ? generation_->training : member_list_.nodes().front().training;
  record.job = has_begun() ? generation_->job : record.secret.substr(0, record.secret.size() / 2);
  if (writer_.empty() || member_list_.nodes().front().has_lost_folder)
    writer_ =
        fmt::format("{}-{}", record.number, member_list_.nodes().front().process.substr(0, 8));
  record.writer = writer_;
  record.voters = voters(record.nodes);
  record.spares = spare_addresses();
  if (!change_.reason.empty()) // else the job begins
    change_.halt =
        std::chrono::duration<double>{std::chrono::steady_clock::now() - changing_}.count();
  record.change = change_;
  if (const auto lost = member_list_.lost(record); !lost.empty()) {
    setup_.say(lost);
    record.change.reason += (change_.reason.empty() ? "" : "; ") + lost;
  }
  return record;
}

/// Proposes the record. If one of its nodes is lost meanwhile, decided() halts again.
void MembershipState::decide(const training::GenerationRecord& record) {
  self_->request(setup_.consensus, caf::infinite, atom::propose_v, record)
      .then([this] { decided(); },
            [this](const caf::error& error) {
              not_decided(from_caf_error(error, {Errc::network, "the consensus actor died"}));
            });
  self_->run_delayed(setup_.timeouts.quorum,
                     [this, number = record.number] { await_decision(number); });
}

void MembershipState::decided() {
  if (phase_ != Phase::deciding || ended_)
    return;
  const auto before = has_begun() ? generation_->step : 0;
  generation_ = std::exchange(proposed_, std::nullopt);
  if (generation_->step > before)
    unexplained_ = 0;
  change_ = {};
  phase_ = Phase::connecting;
  fetched_ = 0;
  assign_members();
  watch_connecting();
  revise();
  if (changed_)
    halt(*std::exchange(changed_, std::nullopt), true);
}

/// Refuses all nodes: they gather at another node, and look for it.
void MembershipState::not_decided(const Error& error) {
  if (phase_ == Phase::deciding && !ended_)
    refuse_all(error);
}

void MembershipState::await_decision(std::int64_t generation) {
  if (phase_ == Phase::deciding && !ended_ && generation == proposed_->number)
    give_up_deciding();
}

void MembershipState::give_up_deciding() {
  Error error{
      Errc::network,
      fmt::format(
          "fewer than a quorum of the {} voters were present within cluster.timeouts.quorum",
          generation_->voters.size())};
  setup_.say(error.message);
  tell_end(failed_end(std::move(error)), [] {});
}

/// Awaits the nodes of the lost leader, although it is unknown which of them are alive.
void MembershipState::inherit() {
  generation_ = setup_.before;
  inherits_ = true;
  trained_ = true;
  change_ = {.reason = setup_.lost.message, .is_loss = setup_.lost.code != Errc::stopped};
  changing_ = std::chrono::steady_clock::now();
  for (const auto& place : generation_->nodes)
    if (place.address != generation_->leader())
      member_list_.await(place.address);
  for (const auto& spare : generation_->spares)
    member_list_.await(spare);
  self_->run_delayed(setup_.timeouts.detection, [this] { await_successors(); });
}

/// Stops waiting for nodes of the lost leader. One that comes later joins like any other.
void MembershipState::await_successors() {
  if (!inherits_ || ended_)
    return;
  for (const auto& absent : std::set{member_list_.absent()})
    if (find(absent) == members_.end())
      member_list_.remove(absent);
  form_if_complete();
}

/// Gives spares the ranks of nodes that did not join this leader.
void MembershipState::fill_after_leader() {
  if (std::exchange(inherits_, false))
    fill(place_of(""));
}

/// Returns the index for a node among the members that have joined: after the leader, in the order
/// of their ranks in the last generation. For a spare (""), the index that the new leader had
/// there.
std::ptrdiff_t MembershipState::place_of(const std::string& address) const {
  const auto order = [this](const std::string& node) {
    const auto& nodes = generation_->nodes;
    return std::ranges::find(nodes, node, &training::MemberInfo::address) - nodes.begin();
  };
  if (members_.empty())
    return 0;
  const auto own = address.empty() ? order(members_.front().address) : order(address);
  const auto after =
      std::ranges::find_if(members_.begin() + 1, members_.end(),
                           [&](const Member& member) { return order(member.address) > own; });
  return after - members_.begin();
}

} // namespace troupe::actors
