#include "actors/roles/detail/team_rounds.hpp"

#include "collectives/fragments.hpp"
#include "core/fail.hpp"
#include "engine/outer/change_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::actors {

using collectives::Mail;
using collectives::MailPtr;
using engine::Round;
using engine::RoundChange;
using engine::RoundLetter;
using engine::RoundSum;

namespace {

bool is_there(const std::vector<MailPtr>& sums) {
  return std::ranges::none_of(sums, [](const MailPtr& sum) { return sum == nullptr; });
}

} // namespace

TeamRounds::TeamRounds(TeamRoundsSetup setup, shard_manager_actor me, Later later)
    : setup_{std::move(setup)}, me_{std::move(me)}, later_{std::move(later)},
      book_{strategy(), fragments(), setup_.first_step},
      applied_(setup_.state->fragments().size(), setup_.first_step - 1) {}

Status TeamRounds::end_step(std::int64_t step, double weight) {
  for (int fragment = 0; fragment < fragments(); ++fragment)
    if (collectives::ends_round(strategy(), fragment, step))
      TROUPE_TRY(send_changes({fragment, step}, weight));
  return {};
}

Status TeamRounds::send_changes(Round round, double weight) {
  rounds_[round].resize(static_cast<std::size_t>(strategy().teams()));
  TROUPE_TRY(auto chunks, setup_.state->end_round(round.fragment, weight));
  std::vector<Mail> letters;
  for (int owner = 0; owner < std::ssize(chunks); ++owner) {
    auto& letter = letters.emplace_back(RoundChange{round, weight}.to_mail());
    letter.from = rank();
    letter.to = speaker(owner);
    letter.values = std::move(chunks[static_cast<std::size_t>(owner)]);
    letter.bytes = letter.values->bytes();
    // And as much comes back from here, whenever that is.
    auto& sent = sent_[round.step];
    sent.changes += owner == team() ? 0 : letter.bytes;
    sent.sums += owner == team() ? 0 : letter.bytes;
  }
  setup_.state->replica().communication->on_complete(
      [post = setup_.post, letters = std::move(letters)](const Status& status) mutable {
        if (!status)
          return; // the stream has failed, and says so itself
        for (auto& letter : letters)
          post->send(std::move(letter));
      });
  return {};
}

Status TeamRounds::open(const MailPtr& mail) {
  return engine::round_letter(*mail) == RoundLetter::change ? take_change(mail) : take_sum(mail);
}

Status TeamRounds::check(const Mail& mail, bool fits) const {
  const auto [fragment, step] = engine::round_of(mail);
  if (fits && mail.values) {
    const auto chunk = setup_.state->fragments()[static_cast<std::size_t>(fragment)].chunk;
    if (mail.bytes == engine::change_bytes(strategy().outer.compression, chunk))
      return {};
  }
  // Of the sender: its node is the one that others go on without.
  return failure(Error{Errc::network,
                       fmt::format("rank {} has sent {} bytes of fragment {} behind step {}, which "
                                   "nobody awaits",
                                   mail.from, mail.bytes, fragment, step),
                       {.rank = mail.from}});
}

Status TeamRounds::take_change(const MailPtr& mail) {
  const auto round = engine::round_of(*mail);
  const auto from = mail->from / strategy().team;
  TROUPE_TRY(check(*mail, setup_.sum && mail->from == speaker(from) && book_.expects(round, from) &&
                              RoundChange::weight_of(*mail) > 0));
  book_.come(round, from, mail);
  return close_if_due(round.fragment);
}

Status TeamRounds::close_if_due(int fragment) {
  const auto round = book_.next(fragment);
  if (book_.is_whole(fragment))
    return close(fragment);
  if (book_.has_quorum(fragment) && in_grace_.insert(round).second)
    begin_grace(round);
  return {};
}

/// Whoever is late until then counts in the next round.
void TeamRounds::begin_grace(Round round) {
  later_(strategy().outer.grace, [this, round] {
    if (book_.next(round.fragment) != round)
      return; // the others have come
    if (auto closed = close(round.fragment); !closed)
      caf::anon_send(me_, atom::failed_v, closed.error());
  });
}

Status TeamRounds::close(int fragment) {
  const auto round = book_.next(fragment);
  in_grace_.erase(round);
  std::vector<int> to(static_cast<std::size_t>(strategy().teams()));
  std::ranges::generate(to, [this, team = 0]() mutable { return speaker(team++); });
  auto changes = book_.close(fragment);
  note(round, false, changes);
  return setup_.sum->close(round, std::move(changes),
                           [post = setup_.post, from = rank(), to](Mail letter) {
                             letter.from = from;
                             for (const auto each : to) {
                               letter.to = each;
                               post->send(letter);
                             }
                           });
}

void TeamRounds::note(Round round, bool is_meeting, std::span<const MailPtr> changes) {
  auto& taken = taken_.emplace_back(RoundTaken{
      .owner = team(), .fragment = round.fragment, .step = round.step, .is_meeting = is_meeting});
  for (const auto& change : changes)
    taken.changes.push_back({change->from / strategy().team, engine::round_of(*change).step});
}

/// Of a round that has not been applied, and has not come.
bool TeamRounds::awaits_sum(const Mail& mail) const {
  const auto round = engine::round_of(mail);
  const auto owner = RoundSum::owner_of(mail);
  if (round.fragment < 0 || round.fragment >= fragments() || owner < 0 ||
      owner >= strategy().teams() ||
      (mail.from != speaker(static_cast<int>(owner)) && mail.from != speaker(team())))
    return false;
  const auto known = rounds_.find(round);
  const bool is_new = known == rounds_.end() || !known->second[static_cast<std::size_t>(owner)];
  return is_new && round.step > applied_[static_cast<std::size_t>(round.fragment)] &&
         collectives::ends_round(strategy(), round.fragment, round.step);
}

Status TeamRounds::take_sum(const MailPtr& mail) {
  const auto round = engine::round_of(*mail);
  const auto owner = RoundSum::owner_of(*mail);
  TROUPE_TRY(check(*mail, awaits_sum(*mail)));
  auto& sums = rounds_[round];
  sums.resize(static_cast<std::size_t>(strategy().teams()));
  sums[static_cast<std::size_t>(owner)] = mail;
  if (setup_.sum)
    tell_team(*mail);
  return {};
}

/// Those of the team that have the same shard, and speak to nobody.
void TeamRounds::tell_team(const Mail& mail) const {
  const auto first = team() * strategy().team;
  for (int member = first; member < first + strategy().team; ++member)
    if (member != rank() && strategy().shard_of(member) == strategy().shard_of(rank())) {
      auto copy = mail;
      copy.from = rank();
      copy.to = member;
      setup_.post->send(std::move(copy));
    }
}

bool TeamRounds::may_begin(std::int64_t step) const {
  return std::ranges::all_of(rounds_, [&](const auto& each) {
    return each.first.step + strategy().outer.overlap >= step || is_there(each.second);
  });
}

std::vector<int> TeamRounds::apply_before(std::int64_t step) {
  std::vector<int> changed;
  Apart apart;
  for (auto at = rounds_.begin(); at != rounds_.end();) {
    const auto& [round, sums] = *at;
    if (round.step + strategy().outer.overlap >= step) {
      ++at;
      continue;
    }
    apply(round, sums, apart);
    changed.push_back(round.fragment);
    at = rounds_.erase(at);
  }
  if (!changed.empty())
    apart_[step] = apart;
  return changed;
}

void TeamRounds::apply(Round round, const Sums& sums, Apart& apart) {
  const auto& norm = apart.squared_norms.emplace_back(std::make_shared<double>(0));
  setup_.state->apply(round.fragment, sums, norm.get());
  setup_.state->replica().communication->on_complete([kept = norm](const Status&) {});
  for (const auto& sum : sums)
    apart.spread += RoundSum::spread_of(*sum);
  applied_[static_cast<std::size_t>(round.fragment)] = round.step;
}

bool TeamRounds::is_settled(std::int64_t steps) const {
  const bool here = std::ranges::all_of(
      rounds_, [&](const auto& each) { return each.first.step >= steps || is_there(each.second); });
  if (!here || !setup_.sum)
    return here;
  for (int fragment = 0; fragment < fragments(); ++fragment)
    if (!book_.is_settled(fragment, steps))
      return false;
  return true;
}

void TeamRounds::meet(std::int64_t steps, double weight) {
  for (auto& [round, sums] : std::exchange(rounds_, {})) {
    Apart apart;
    apply(round, sums, apart);
  }
  const auto& replica = setup_.state->replica();
  if (setup_.sum)
    replica.communication->wait(setup_.sum->stream().record());
  for (int fragment = 0; fragment < fragments(); ++fragment)
    meet_fragment(fragment, steps, weight);
  setup_.state->average_optimizer(weight);
  if (!setup_.sum)
    return;
  setup_.sum->stream().wait(replica.communication->record());
  for (int fragment = 0; fragment < fragments(); ++fragment)
    setup_.sum->forget(fragment);
}

void TeamRounds::meet_fragment(int fragment, std::int64_t steps, double weight) {
  const bool trained = !collectives::ends_round(strategy(), fragment, steps - 1);
  if (!setup_.sum)
    return setup_.state->meet(fragment, trained, weight, {}, nullptr);
  const auto late = book_.take_rest(fragment);
  if (!late.empty())
    note({fragment, steps - 1}, true, late);
  setup_.state->meet(fragment, trained, weight, late, setup_.sum->rounded_off(fragment));
}

RoundReport TeamRounds::take_report(std::int64_t step) {
  const auto sent = sent_.extract(step);
  auto report = sent.empty() ? RoundReport{} : sent.mapped();
  report.taken = std::exchange(taken_, {});
  const auto found = apart_.extract(step);
  if (found.empty())
    return report;
  double norms = 0;
  for (const auto& norm : found.mapped().squared_norms)
    norms += *norm;
  if (norms > 0)
    report.drift = std::sqrt(found.mapped().spread / norms);
  return report;
}

} // namespace troupe::actors
