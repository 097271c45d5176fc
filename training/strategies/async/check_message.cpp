#include "training/strategies/async/check_message.hpp"

#include "core/fail.hpp"
#include "training/state/model_state.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace troupe::training {

using collectives::Message;

namespace {

std::string name_of(MessageKind kind) {
  switch (kind) {
  case MessageKind::pull:
    return "a request for parameters";
  case MessageKind::parameters:
    return "parameters";
  case MessageKind::gradients:
    return "gradients";
  case MessageKind::statistics:
    return "statistics";
  case MessageKind::copy:
    return "a copy of gradients";
  }
  return fmt::format("a message of type {}", static_cast<std::int64_t>(kind));
}

template <class... Args>
tl::unexpected<Error> wrong(const Message& message, fmt::format_string<Args...> what,
                            Args&&... args) {
  return failure(wrong_message(message, fmt::format(what, std::forward<Args>(args)...)));
}

Status check_values(const Message& message, std::size_t elements) {
  if (const auto bytes = elements * sizeof(float); message.bytes != bytes)
    return wrong(message, "with {} bytes of values, not {}", message.bytes, bytes);
  return {};
}

Status check_step(const Message& message, std::int64_t first, std::int64_t last) {
  if (const auto step = step_of(message); step < first || step > last)
    return wrong(message, "of step {}; expected a step from {} to {} (counted from 0)", step, first,
                 last);
  return {};
}

Status check_version(const Message& message, Version version, Version first, Version last) {
  if (version < first || version > last)
    return wrong(message, "of version {}; expected a version from {} to {}", version, first, last);
  return {};
}

Status check_predicted(const Message& message, const ParameterVersion& point,
                       const MessageRules& rules) {
  const auto most = rules.predicts ? rules.staleness : 0;
  if (point.predicted < 0 || point.predicted > most)
    return wrong(message, "predicted by {} steps; expected 0 to {}", point.predicted, most);
  const auto most_come = point.predicted * rules.slices * std::ssize(rules.plan->buckets);
  if (point.arrived < 0 || point.arrived > most_come)
    return wrong(message, "predicted with {} gradients; expected 0 to {}", point.arrived,
                 most_come);
  return {};
}

Status check_pull(const Message& message, const MessageRules& rules, const MessageContext& now) {
  const auto pull = Pull::of(message);
  TROUPE_TRY(check_version(message, pull.have.version, -1, now.published));
  TROUPE_TRY(check_predicted(message, pull.have, rules));
  if (const auto last = now.version + rules.staleness; pull.wanted < 0 || pull.wanted > last)
    return wrong(message, "for step {}; expected a step from 0 to {}", pull.wanted, last);
  return check_values(message, 0);
}

/// Another owner is at most one step ahead: a step is applied only after this owner votes for it
/// too.
Status check_parameters(const Message& message, const MessageRules& rules,
                        const MessageContext& now) {
  const auto at = Parameters::of(message).at;
  const auto& here = now.read[static_cast<std::size_t>(message.from)];
  TROUPE_TRY(
      check_version(message, at.version, std::max(here.version, rules.first), now.version + 1));
  TROUPE_TRY(check_predicted(message, at, rules));
  return check_values(message, at == here ? 0 : rules.plan->shard_elements());
}

/// Checks the header's 64-bit numbers before they are cast.
Status check_place(const Message& message, const MessageRules& rules) {
  const auto slice = message.header[2], bucket = message.header[3];
  if (slice < 0 || slice >= rules.slices)
    return wrong(message, "of slice {}, but there are {} slices", slice, rules.slices);
  if (bucket < 0 || bucket >= std::ssize(rules.plan->buckets))
    return wrong(message, "of bucket {}, but there are {} buckets", bucket,
                 rules.plan->buckets.size());
  if (rules.absent[static_cast<std::size_t>(bucket)])
    return wrong(message, "of bucket {}, which has no trained parameters", bucket);
  return {};
}

Status check_gradients(const Message& message, const MessageRules& rules,
                       const MessageContext& now) {
  TROUPE_TRY(check_step(message, now.version, now.version + rules.staleness));
  TROUPE_TRY(check_place(message, rules));
  const auto of = Gradients::of(message);
  TROUPE_TRY(check_version(message, of.read, std::max(of.step - rules.staleness, rules.first),
                           now.published));
  if (!std::isfinite(of.scale) || of.scale <= 0 || (!rules.scales_loss && of.scale != 1))
    return wrong(message, "of a loss with an invalid scale, {}", of.scale);
  return check_values(message, rules.plan->shard_elements(rules.plan->buckets[of.bucket]));
}

Status check_statistics(const Message& message, const MessageRules& rules,
                        const MessageContext& now) {
  if (rules.statistic_elements == 0)
    return wrong(message, "that the model does not have");
  TROUPE_TRY(check_step(message, now.version, now.version + rules.staleness));
  return check_values(message, rules.statistic_elements);
}

Status check_copy(const Message& message, const MessageRules& rules, const MessageContext& now) {
  if (message.from != rules.copies_from)
    return wrong(message, "that this rank does not keep");
  TROUPE_TRY(check_step(message, now.version, now.version + 1));
  return check_values(message, rules.plan->shard_elements());
}

} // namespace

MessageRules message_rules(const ModelState& state, int slices, Version first) {
  MessageRules rules{.plan = &state.layout().plan(),
                     .absent = state.layout().frozen_buckets(),
                     .ranks = state.layout().strategy().world_size,
                     .slices = slices,
                     .staleness = state.layout().strategy().async.staleness,
                     .predicts = state.layout().strategy().async.prediction,
                     .first = first,
                     .scales_loss = state.loss_scale() != nullptr};
  if (state.statistics().commits())
    rules.statistic_elements = state.layout().storage().statistic_elements;
  if (const auto* const shard_replica = state.shard_replica())
    // Each rank has the shard of its number.
    rules.copies_from = static_cast<int>(shard_replica->shard());
  return rules;
}

Status check_message(const Message& message, const MessageRules& rules, const MessageContext& now) {
  if (message.from < 0 || message.from >= rules.ranks) // no rank to blame
    return fail(Errc::collective, "a message claims to be from rank {}, but there are {} ranks",
                message.from, rules.ranks);
  switch (kind_of(message)) {
  case MessageKind::pull:
    return check_pull(message, rules, now);
  case MessageKind::parameters:
    return check_parameters(message, rules, now);
  case MessageKind::gradients:
    return check_gradients(message, rules, now);
  case MessageKind::statistics:
    return check_statistics(message, rules, now);
  case MessageKind::copy:
    return check_copy(message, rules, now);
  }
  return wrong(message, "that does not exist");
}

Error wrong_message(const Message& message, std::string_view what) {
  return {Errc::network,
          fmt::format("rank {} has sent {} {}", message.from, name_of(kind_of(message)), what),
          {.rank = message.from}};
}

} // namespace troupe::training
