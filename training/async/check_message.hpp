/// What mail from another rank may say. An owner computes places in memory from it, and counts by
/// it what has come: a letter that does not fit is an error of who has sent it.
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/error.hpp"
#include "training/async/messages.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::training {

class ModelState;

/// What holds for all letters of a generation.
struct MessageRules {
  const collectives::FlatPlan* plan = nullptr;
  std::vector<bool> absent; ///< by bucket: nothing comes of it
  int ranks = 1;
  int slices = 1;
  std::int64_t staleness = 0;
  bool predicts = false;               ///< parameters (ParameterServerShard)
  Version first = 0;                   ///< that the generation has begun with
  std::size_t statistic_elements = 0;  ///< 0: none come
  std::optional<int> copies_from = {}; ///< whose shard has a copy here
  bool scales_loss = false;
};
/// The state has to outlive them.
MessageRules message_rules(const ModelState& state, int slices, Version first);

/// What is so when a letter comes.
struct MessageContext {
  Version version = 0;                    ///< ParameterServerShard's
  Version published = 0;                  ///< likewise
  std::span<const ParameterVersion> read; ///< ParameterClient's
};

/// Error: network, of the rank that the mail came from (Where).
Status check_message(const collectives::Message& message, const MessageRules& rules,
                     const MessageContext& now);

/// "rank 3 has sent gradients of bucket 9, where there are 4".
Error wrong_message(const collectives::Message& message, std::string_view what);

} // namespace troupe::training
