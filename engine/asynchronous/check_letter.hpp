/// What mail from another rank may say. An owner computes places in memory from it, and counts by
/// it what has come: a letter that does not fit is an error of who has sent it.
#pragma once

#include "collectives/flat_plan.hpp"
#include "core/error.hpp"
#include "engine/asynchronous/letters.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::engine {

class ModelState;

/// What holds for all letters of a generation.
struct LetterRules {
  const collectives::FlatPlan* plan = nullptr;
  std::vector<bool> absent; ///< by bucket: nothing comes of it
  int ranks = 1;
  int slices = 1;
  std::int64_t staleness = 0;
  bool predicts = false;               ///< parameters (ShardOwner)
  Version first = 0;                   ///< that the generation has begun with
  std::size_t statistic_elements = 0;  ///< 0: none come
  std::optional<int> copies_from = {}; ///< whose shard has a copy here
  bool scales_loss = false;
};
/// The state has to outlive them.
LetterRules letter_rules(const ModelState& state, int slices, Version first);

/// What is so when a letter comes.
struct LetterContext {
  Version version = 0;         ///< ShardOwner's
  Version published = 0;       ///< likewise
  std::span<const Point> read; ///< SliceReader's
};

/// Error: network, of the rank that the mail came from (Where).
Status check_letter(const collectives::Mail& mail, const LetterRules& rules,
                    const LetterContext& now);

/// "rank 3 has sent gradients of bucket 9, where there are 4".
Error wrong_letter(const collectives::Mail& mail, std::string_view what);

} // namespace troupe::engine
