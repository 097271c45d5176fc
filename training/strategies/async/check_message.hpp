/// Validates messages from other ranks. An owner computes memory addresses and counts from them, so
/// an invalid message is reported as an error of its sender.
#pragma once

#include "core/error.hpp"
#include "training/flat_plan.hpp"
#include "training/strategies/async/messages.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::training {

class ModelState;

/// Rules for all messages of a generation.
struct MessageRules {
  const FlatPlan* plan = nullptr;
  std::vector<bool> absent; ///< by bucket: no gradients are sent
  int ranks = 1;
  int slices = 1;
  std::int64_t staleness = 0;
  bool predicts = false;               ///< parameters may be predicted (ParameterServerShard)
  Version first = 0;                   ///< the generation's first version
  std::size_t statistic_elements = 0;  ///< 0: none are sent
  std::optional<int> copies_from = {}; ///< rank whose shard is replicated here
  bool scales_loss = false;
};
/// The state must outlive the rules.
MessageRules message_rules(const ModelState& state, int slices, Version first);

/// State of the receiver when a message arrives.
struct MessageContext {
  Version version = 0;                    ///< of ParameterServerShard
  Version published = 0;                  ///< of ParameterServerShard
  std::span<const ParameterVersion> read; ///< of ParameterClient
};

/// Error: network, naming the sending rank (Where).
Status check_message(const collectives::Message& message, const MessageRules& rules,
                     const MessageContext& now);

/// Returns an error such as "rank 3 has sent gradients of bucket 9, but there are 4 buckets".
Error wrong_message(const collectives::Message& message, std::string_view what);

} // namespace troupe::training
