/// The table of parallel.strategy: the ways in which workers can share a job, one row of traits
/// each. Config, checks, `plan`, `compare` and the collectives read it; no other code knows a
/// strategy's name. A new strategy is an enumerator and a row.
#pragma once

#include "core/choice.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class StrategyKind : std::uint8_t {
  single,
  dp,
  ddp,
  zero1,
  zero2,
  zero3,
  fsdp,
  hsdp,
  local_sgd,
  diloco,
  async
};

/// State that is divided among workers: ZeRO's stages, each including the previous ones.
enum class Divided : std::uint8_t { nothing, optimizer, gradients, parameters };

/// The workers that together hold one copy of the divided state.
enum class ShardGroup : std::uint8_t { all_workers, configured /*!< parallel.shard_group */ };

/// When ranks synchronize (training/step_plan.hpp).
enum class StepPolicy : std::uint8_t { every_step, local_sgd, diloco, async };

struct StrategyTraits {
  StrategyKind kind;
  std::string_view name; ///< the config's word
  std::string_view help;
  Divided divides = Divided::nothing;
  ShardGroup group = ShardGroup::all_workers;
  StepPolicy policy = StepPolicy::every_step;
  bool alone = false;     ///< for one worker; the others are for any number
  bool root_only = false; ///< only rank 0 has an optimizer
  bool alias = false;     ///< another word for the row above
  /// Reason why `plan` recommends it if no row above with a reason fits; empty: never recommended.
  std::string_view reason = {};
};

/// Ordered from the least cost to the largest savings.
inline constexpr std::array strategies = {
    StrategyTraits{.kind = StrategyKind::single,
                   .name = "single",
                   .help = "one worker",
                   .alone = true,
                   .reason = "everything fits on each worker: nothing has to be sharded"},
    StrategyTraits{.kind = StrategyKind::dp,
                   .name = "dp",
                   .help = "the old DataParallel, for comparison",
                   .root_only = true},
    StrategyTraits{.kind = StrategyKind::ddp,
                   .name = "ddp",
                   .help = "each worker has the whole state",
                   .reason = "everything fits on each worker: nothing has to be sharded"},
    StrategyTraits{.kind = StrategyKind::zero1,
                   .name = "zero1",
                   .help = "the optimizer's state is sharded",
                   .divides = Divided::optimizer,
                   .reason = "the optimizer's state does not fit in addition to the rest; sharded "
                             "over the workers it does, and no more is sent than with ddp"},
    StrategyTraits{
        .kind = StrategyKind::zero2,
        .name = "zero2",
        .help = "gradients too",
        .divides = Divided::gradients,
        .reason =
            "optimizer state and gradients have to be sharded; no more is sent than with ddp"},
    StrategyTraits{.kind = StrategyKind::zero3,
                   .name = "zero3",
                   .help = "parameters too",
                   .divides = Divided::parameters,
                   .reason = "parameters have to be sharded too, which sends half as much again"},
    StrategyTraits{.kind = StrategyKind::fsdp,
                   .name = "fsdp",
                   .help = "another name of zero3",
                   .divides = Divided::parameters,
                   .alias = true},
    StrategyTraits{.kind = StrategyKind::hsdp,
                   .name = "hsdp",
                   .help = "zero3 within groups of workers",
                   .divides = Divided::parameters,
                   .group = ShardGroup::configured},
    StrategyTraits{
        .kind = StrategyKind::local_sgd,
        .name = "local_sgd",
        .help =
            "workers train independently, and their parameters are averaged every local_sgd.steps",
        .policy = StepPolicy::local_sgd},
    StrategyTraits{.kind = StrategyKind::diloco,
                   .name = "diloco",
                   .help = "groups of workers train independently, and the change of each in "
                           "diloco.steps is a pseudo-gradient for an outer optimizer",
                   .policy = StepPolicy::diloco},
    StrategyTraits{.kind = StrategyKind::async,
                   .name = "async",
                   .help = "no worker waits for another: each owns a shard of the parameters, to "
                           "which all send their gradients when they are ready",
                   .divides = Divided::parameters,
                   .policy = StepPolicy::async},
};

constexpr const StrategyTraits& traits_of(StrategyKind kind) {
  return strategies[static_cast<std::size_t>(kind)];
}
static_assert(std::ranges::all_of(strategies, [](const StrategyTraits& row) {
  return &traits_of(row.kind) == &row; // each row is where traits_of looks
}));

template <>
inline constexpr auto choice_words<StrategyKind> = [] {
  std::array<std::string_view, strategies.size()> names;
  std::ranges::transform(strategies, names.begin(), &StrategyTraits::name);
  return names;
}();

/// Suffix that `plan` and `compare` append to a strategy with parallel.offload.
inline constexpr std::string_view offload_suffix = "_offload";

/// Returns the names of the strategies that divide at least `least`; with a policy, only of those
/// that have it.
inline std::vector<std::string> strategy_names(Divided least = Divided::nothing,
                                               std::optional<StepPolicy> policy = std::nullopt) {
  std::vector<std::string> names;
  for (const auto& traits : strategies)
    if (traits.divides >= least && traits.policy == policy.value_or(traits.policy))
      names.emplace_back(traits.name);
  return names;
}

} // namespace troupe
