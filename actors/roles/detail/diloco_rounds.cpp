#include "actors/roles/detail/diloco_rounds.hpp"

#include "core/fail.hpp"
#include "training/strategies/diloco/fragments.hpp"
#include "training/strategies/diloco/pseudo_gradient_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::actors {

using collectives::Message;
using collectives::MessagePtr;
using training::PseudoGradientMessage;
using training::Round;
using training::RoundMessageKind;
using training::RoundSum;

DilocoRounds::DilocoRounds(DilocoRoundsSetup setup, Later later)
    : setup_{std::move(setup)}, later_{std::move(later)}, registry_{strategy(), fragments(),
                                                                    setup_.first_step},
      applied_(setup_.state->fragments().size(), setup_.first_step - 1) {}

Status DilocoRounds::end_step(std::int64_t step, double weight) {
  for (int fragment = 0; fragment < fragments(); ++fragment)
    if (training::ends_round(strategy(), fragment, step))
      TROUPE_TRY(send_changes({fragment, step}, weight));
  return {};
}

Status DilocoRounds::send_changes(Round round, double weight) {
  rounds_[round].resize(static_cast<std::size_t>(strategy().replica_groups()));
  TROUPE_TRY(auto chunks, setup_.state->end_round(round.fragment, weight));
  std::vector<Message> messages;
  for (int owner = 0; owner < std::ssize(chunks); ++owner) {
    auto& message = messages.emplace_back(PseudoGradientMessage{round, weight}.to_message());
    message.from = rank();
    message.to = speaker(owner);
    message.values = std::move(chunks[static_cast<std::size_t>(owner)]);
    message.bytes = message.values->bytes();
    // The sum has the same size, and returns at some later time.
    auto& sent = sent_[round.step];
    sent.changes += owner == replica_group() ? 0 : message.bytes;
    sent.sums += owner == replica_group() ? 0 : message.bytes;
  }
  setup_.state->rank_state().communication->on_complete(
      [point_to_point = setup_.point_to_point,
       messages = std::move(messages)](const Status& status) mutable {
        if (!status)
          return; // the stream has failed, and reports it itself
        for (auto& message : messages)
          point_to_point->send(std::move(message));
      });
  return {};
}

Status DilocoRounds::open(const MessagePtr& message) {
  return training::round_message_kind(*message) == RoundMessageKind::pseudo_gradient
             ? take_pseudo_gradient(message)
             : take_sum(message);
}

Status DilocoRounds::check(const Message& message, bool fits) const {
  const auto [fragment, step] = training::round_of(message);
  if (fits && message.values) {
    const auto chunk = setup_.state->fragments()[static_cast<std::size_t>(fragment)].chunk;
    if (message.bytes == training::pseudo_gradient_bytes(strategy().diloco.compress, chunk))
      return {};
  }
  // Names the sender: the others continue without its node.
  return failure(Error{
      Errc::network,
      fmt::format("rank {} has sent {} bytes of fragment {} after step {}, which are not expected",
                  message.from, message.bytes, fragment, step),
      {.rank = message.from}});
}

Status DilocoRounds::take_pseudo_gradient(const MessagePtr& message) {
  const auto round = training::round_of(*message);
  const auto from = message->from / strategy().replica_group;
  TROUPE_TRY(check(*message, setup_.sum && message->from == speaker(from) &&
                                 registry_.expects(round, from) &&
                                 PseudoGradientMessage::weight_of(*message) > 0));
  registry_.add(round, from, message);
  return close_if_due(round.fragment);
}

/// The pseudo-gradient of a replica group that misses the grace period counts in the next round.
Status DilocoRounds::close_if_due(int fragment) {
  const auto round = registry_.next(fragment);
  if (registry_.is_whole(fragment))
    return close(fragment);
  if (registry_.has_quorum(fragment) && in_grace_.insert(round).second)
    later_(strategy().diloco.grace, [this, round] {
      const bool is_pending = registry_.next(round.fragment) == round; // else the others arrived
      return is_pending ? close(round.fragment) : Status{};
    });
  return {};
}

Status DilocoRounds::close(int fragment) {
  const auto round = registry_.next(fragment);
  in_grace_.erase(round);
  std::vector<int> to;
  to.reserve(static_cast<std::size_t>(strategy().replica_groups()));
  for (int group = 0; group < strategy().replica_groups(); ++group)
    to.push_back(speaker(group));
  auto changes = registry_.close(fragment);
  note(round, false, changes);
  return setup_.sum->close(
      round, std::move(changes),
      [point_to_point = setup_.point_to_point, from = rank(), to](Message message) {
        message.from = from;
        for (const auto each : to) {
          message.to = each;
          point_to_point->send(message);
        }
      });
}

void DilocoRounds::note(Round round, bool is_synchronized, std::span<const MessagePtr> changes) {
  auto& taken = taken_.emplace_back(RoundTaken{.owner = replica_group(),
                                               .fragment = round.fragment,
                                               .step = round.step,
                                               .is_synchronized = is_synchronized});
  for (const auto& change : changes)
    taken.changes.push_back(
        {change->from / strategy().replica_group, training::round_of(*change).step});
}

/// Whether the sum is for a round that is not applied, and has not arrived.
bool DilocoRounds::awaits_sum(const Message& message) const {
  const auto round = training::round_of(message);
  const auto owner = RoundSum::owner_of(message);
  if (round.fragment < 0 || round.fragment >= fragments() || owner < 0 ||
      owner >= strategy().replica_groups() ||
      (message.from != speaker(static_cast<int>(owner)) &&
       message.from != speaker(replica_group())))
    return false;
  const auto known = rounds_.find(round);
  const bool is_new = known == rounds_.end() || !known->second[static_cast<std::size_t>(owner)];
  return is_new && round.step > applied_[static_cast<std::size_t>(round.fragment)] &&
         training::ends_round(strategy(), round.fragment, round.step);
}

Status DilocoRounds::take_sum(const MessagePtr& message) {
  const auto round = training::round_of(*message);
  const auto owner = RoundSum::owner_of(*message);
  TROUPE_TRY(check(*message, awaits_sum(*message)));
  auto& sums = rounds_[round];
  sums.resize(static_cast<std::size_t>(strategy().replica_groups()));
  sums[static_cast<std::size_t>(owner)] = message;
  if (setup_.sum)
    tell_replica_group(*message);
  return {};
}

/// Forwards a sum to the ranks of the replica group with the same shard, which other groups do not
/// address.
void DilocoRounds::tell_replica_group(const Message& message) const {
  const auto first = replica_group() * strategy().replica_group;
  for (int member = first; member < first + strategy().replica_group; ++member)
    if (member != rank() && strategy().shard_of(member) == strategy().shard_of(rank())) {
      auto copy = message;
      copy.from = rank();
      copy.to = member;
      setup_.point_to_point->send(std::move(copy));
    }
}

/// Whether all sums of the rounds that ended before this step have arrived.
bool DilocoRounds::has_sums_before(std::int64_t step) const {
  return std::ranges::all_of(rounds_, [step](const auto& each) {
    return each.first.step >= step ||
           std::ranges::none_of(each.second, [](const MessagePtr& sum) { return sum == nullptr; });
  });
}

std::vector<int> DilocoRounds::apply_before(std::int64_t step) {
  std::vector<int> changed;
  Apart apart;
  for (auto at = rounds_.begin(); at != rounds_.end();) {
    const auto& [round, sums] = *at;
    if (round.step + strategy().diloco.overlap >= step) {
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

void DilocoRounds::apply(Round round, const Sums& sums, Apart& apart) {
  const auto& norm = apart.squared_norms.emplace_back(std::make_shared<double>(0));
  setup_.state->apply(round.fragment, sums, norm.get());
  setup_.state->rank_state().communication->on_complete([kept = norm](const Status&) {});
  for (const auto& sum : sums)
    apart.spread += RoundSum::spread_of(*sum);
  applied_[static_cast<std::size_t>(round.fragment)] = round.step;
}

bool DilocoRounds::is_settled(std::int64_t steps) const {
  const bool here = has_sums_before(steps);
  if (!here || !setup_.sum)
    return here;
  for (int fragment = 0; fragment < fragments(); ++fragment)
    if (!registry_.is_settled(fragment, steps))
      return false;
  return true;
}

void DilocoRounds::synchronize(std::int64_t steps, double weight) {
  for (auto& [round, sums] : std::exchange(rounds_, {})) {
    Apart apart;
    apply(round, sums, apart);
  }
  const auto& rank_state = setup_.state->rank_state();
  if (setup_.sum)
    rank_state.communication->wait(setup_.sum->stream().record());
  for (int fragment = 0; fragment < fragments(); ++fragment)
    synchronize_fragment(fragment, steps, weight);
  setup_.state->average_optimizer(weight);
  if (!setup_.sum)
    return;
  setup_.sum->stream().wait(rank_state.communication->record());
  for (int fragment = 0; fragment < fragments(); ++fragment)
    setup_.sum->forget(fragment);
}

void DilocoRounds::synchronize_fragment(int fragment, std::int64_t steps, double weight) {
  const bool trained = !training::ends_round(strategy(), fragment, steps - 1);
  if (!setup_.sum)
    return setup_.state->synchronize(fragment, trained, weight, {}, nullptr);
  const auto late = registry_.take_rest(fragment);
  if (!late.empty())
    note({fragment, steps - 1}, true, late);
  setup_.state->synchronize(fragment, trained, weight, late, setup_.sum->rounded_off(fragment));
}

RoundReport DilocoRounds::take_report(std::int64_t step) {
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
