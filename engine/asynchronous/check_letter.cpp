#include "engine/asynchronous/check_letter.hpp"

#include "core/fail.hpp"
#include "engine/state/model_state.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace troupe::engine {

using collectives::Mail;

namespace {

std::string name_of(Letter kind) {
  switch (kind) {
  case Letter::pull:
    return "a question for parameters";
  case Letter::parameters:
    return "parameters";
  case Letter::gradients:
    return "gradients";
  case Letter::statistics:
    return "statistics";
  case Letter::copy:
    return "a copy of gradients";
  }
  return fmt::format("a letter of kind {}", static_cast<std::int64_t>(kind));
}

template <class... Args>
tl::unexpected<Error> wrong(const Mail& mail, fmt::format_string<Args...> what, Args&&... args) {
  return failure(wrong_letter(mail, fmt::format(what, std::forward<Args>(args)...)));
}

Status check_values(const Mail& mail, std::size_t elements) {
  if (const auto bytes = elements * sizeof(float); mail.bytes != bytes)
    return wrong(mail, "with {} bytes of values, not {}", mail.bytes, bytes);
  return {};
}

Status check_step(const Mail& mail, std::int64_t first, std::int64_t last) {
  if (const auto step = step_of(mail); step < first || step > last)
    return wrong(mail, "of step {}, not of one from {} to {} (counted from 0)", step, first, last);
  return {};
}

Status check_version(const Mail& mail, Version version, Version first, Version last) {
  if (version < first || version > last)
    return wrong(mail, "of version {}, not of one from {} to {}", version, first, last);
  return {};
}

Status check_predicted(const Mail& mail, const Point& point, const LetterRules& rules) {
  const auto most = rules.predicts ? rules.staleness : 0;
  if (point.predicted < 0 || point.predicted > most)
    return wrong(mail, "that are predicted by {} steps, not by 0 to {}", point.predicted, most);
  const auto most_come = point.predicted * rules.slices * std::ssize(rules.plan->buckets);
  if (point.come < 0 || point.come > most_come)
    return wrong(mail, "that are predicted with {} gradients, not with 0 to {}", point.come,
                 most_come);
  return {};
}

Status check_pull(const Mail& mail, const LetterRules& rules, const LetterContext& now) {
  const auto pull = Pull::of(mail);
  TROUPE_TRY(check_version(mail, pull.have.version, -1, now.published));
  TROUPE_TRY(check_predicted(mail, pull.have, rules));
  if (const auto last = now.version + rules.staleness; pull.wanted < 0 || pull.wanted > last)
    return wrong(mail, "for step {}, not for one from 0 to {}", pull.wanted, last);
  return check_values(mail, 0);
}

/// Another owner is ahead by one step at the most, as each is applied when this one too is for it.
Status check_parameters(const Mail& mail, const LetterRules& rules, const LetterContext& now) {
  const auto at = Parameters::of(mail).at;
  const auto& here = now.read[static_cast<std::size_t>(mail.from)];
  TROUPE_TRY(check_version(mail, at.version, std::max(here.version, rules.first), now.version + 1));
  TROUPE_TRY(check_predicted(mail, at, rules));
  return check_values(mail, at == here ? 0 : rules.plan->shard_elements());
}

/// As the heading says it, where numbers are as wide as they come.
Status check_place(const Mail& mail, const LetterRules& rules) {
  const auto slice = mail.heading[2], bucket = mail.heading[3];
  if (slice < 0 || slice >= rules.slices)
    return wrong(mail, "of slice {}, where there are {}", slice, rules.slices);
  if (bucket < 0 || bucket >= std::ssize(rules.plan->buckets))
    return wrong(mail, "of bucket {}, where there are {}", bucket, rules.plan->buckets.size());
  if (rules.absent[static_cast<std::size_t>(bucket)])
    return wrong(mail, "of bucket {}, of which nothing is trained", bucket);
  return {};
}

Status check_gradients(const Mail& mail, const LetterRules& rules, const LetterContext& now) {
  TROUPE_TRY(check_step(mail, now.version, now.version + rules.staleness));
  TROUPE_TRY(check_place(mail, rules));
  const auto of = Gradients::of(mail);
  TROUPE_TRY(check_version(mail, of.read, std::max(of.step - rules.staleness, rules.first),
                           now.published));
  if (!std::isfinite(of.scale) || of.scale <= 0 || (!rules.scales_loss && of.scale != 1))
    return wrong(mail, "of a loss that was scaled by {}", of.scale);
  return check_values(mail, rules.plan->shard_elements(rules.plan->buckets[of.bucket]));
}

Status check_statistics(const Mail& mail, const LetterRules& rules, const LetterContext& now) {
  if (rules.statistic_elements == 0)
    return wrong(mail, "which the model does not have");
  TROUPE_TRY(check_step(mail, now.version, now.version + rules.staleness));
  return check_values(mail, rules.statistic_elements);
}

Status check_copy(const Mail& mail, const LetterRules& rules, const LetterContext& now) {
  if (mail.from != rules.copies_from)
    return wrong(mail, "which is not kept here");
  TROUPE_TRY(check_step(mail, now.version, now.version + 1));
  return check_values(mail, rules.plan->shard_elements());
}

} // namespace

LetterRules letter_rules(const ModelState& state, int slices, Version first) {
  LetterRules rules{.plan = &state.plan(),
                    .ranks = state.strategy().world_size,
                    .slices = slices,
                    .staleness = state.strategy().staleness,
                    .predicts = state.strategy().predicts,
                    .first = first,
                    .scales_loss = state.loss_scale() != nullptr};
  for (const auto& bucket : state.plan().buckets)
    rules.absent.push_back(state.is_frozen(bucket));
  if (state.commits_statistics())
    rules.statistic_elements = state.layout().statistic_elements;
  if (const auto* const buddy = state.buddy())
    rules.copies_from = static_cast<int>(buddy->shard()); // each rank has one, of its number
  return rules;
}

Status check_letter(const Mail& mail, const LetterRules& rules, const LetterContext& now) {
  if (mail.from < 0 || mail.from >= rules.ranks) // nobody knows whose it is
    return fail(Errc::collective, "a mail says that it is from rank {}, where there are {}",
                mail.from, rules.ranks);
  switch (kind_of(mail)) {
  case Letter::pull:
    return check_pull(mail, rules, now);
  case Letter::parameters:
    return check_parameters(mail, rules, now);
  case Letter::gradients:
    return check_gradients(mail, rules, now);
  case Letter::statistics:
    return check_statistics(mail, rules, now);
  case Letter::copy:
    return check_copy(mail, rules, now);
  }
  return wrong(mail, "which there is not");
}

Error wrong_letter(const Mail& mail, std::string_view what) {
  return {Errc::network,
          fmt::format("rank {} has sent {} {}", mail.from, name_of(kind_of(mail)), what),
          {.rank = mail.from}};
}

} // namespace troupe::engine
