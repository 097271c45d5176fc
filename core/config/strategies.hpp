/// The table of parallel.strategy: how workers can share a job, each way a row of facts. Config,
/// checks, `plan`, `compare` and the collectives read them; nothing else knows a strategy's name. A
/// new one is an enumerator and a row.
#pragma once

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

/// What is divided among workers: ZeRO's stages, each with what the ones before it divide.
enum class Divided : std::uint8_t { nothing, optimizer, gradients, parameters };

/// The workers that together hold one copy of what is divided.
enum class ShardGroup : std::uint8_t { all_workers, configured /*!< parallel.shard_group */ };

/// When ranks meet (collectives/step_policy.hpp).
enum class StepPolicy : std::uint8_t { every_step, local_sgd, diloco, async };

struct StrategyTraits {
  StrategyKind kind;
  std::string_view name; ///< the config's word
  std::string_view help;
  Divided divides = Divided::nothing;
  ShardGroup group = ShardGroup::all_workers;
  StepPolicy policy = StepPolicy::every_step;
  bool alone = false;     ///< for one worker; the others are for any number
  bool root_only = false; ///< rank 0 alone has an optimizer
  bool alias = false;     ///< another word for the row above
  /// Why `plan` recommends it where the rows above that have a reason do not fit; empty: never.
  std::string_view reason = {};
};

/// From what costs least to what saves most.
inline constexpr std::array strategies = {
    StrategyTraits{.kind = StrategyKind::single,
                   .name = "single",
                   .help = "one worker",
                   .alone = true,
                   .reason = "everything fits on each worker: nothing has to be divided"},
    StrategyTraits{.kind = StrategyKind::dp,
                   .name = "dp",
                   .help = "the old DataParallel, to compare with",
                   .root_only = true},
    StrategyTraits{.kind = StrategyKind::ddp,
                   .name = "ddp",
                   .help = "each worker has everything",
                   .reason = "everything fits on each worker: nothing has to be divided"},
    StrategyTraits{.kind = StrategyKind::zero1,
                   .name = "zero1",
                   .help = "the optimizer's state is divided",
                   .divides = Divided::optimizer,
                   .reason =
                       "the optimizer's state does not fit beside the rest; divided among the "
                       "workers it does, and no more is sent than with ddp"},
    StrategyTraits{.kind = StrategyKind::zero2,
                   .name = "zero2",
                   .help = "gradients too",
                   .divides = Divided::gradients,
                   .reason = "optimizer state and gradients have to be divided; no more is sent "
                             "than with ddp"},
    StrategyTraits{.kind = StrategyKind::zero3,
                   .name = "zero3",
                   .help = "parameters too",
                   .divides = Divided::parameters,
                   .reason = "parameters have to be divided too, which costs half as much sending "
                             "again"},
    StrategyTraits{.kind = StrategyKind::fsdp,
                   .name = "fsdp",
                   .help = "zero3 by its other name",
                   .divides = Divided::parameters,
                   .alias = true},
    StrategyTraits{.kind = StrategyKind::hsdp,
                   .name = "hsdp",
                   .help = "as zero3, within groups of workers",
                   .divides = Divided::parameters,
                   .group = ShardGroup::configured},
    StrategyTraits{.kind = StrategyKind::local_sgd,
                   .name = "local_sgd",
                   .help = "each worker trains by itself, and all are averaged every local_steps",
                   .policy = StepPolicy::local_sgd},
    StrategyTraits{.kind = StrategyKind::diloco,
                   .name = "diloco",
                   .help = "teams of workers train by themselves, and what each has come to in "
                           "local_steps is a gradient of an outer optimizer",
                   .policy = StepPolicy::diloco},
    StrategyTraits{.kind = StrategyKind::async,
                   .name = "async",
                   .help = "no worker waits for another: each owns a part of the parameters, to "
                           "which all send gradients of what they have come to",
                   .divides = Divided::parameters,
                   .policy = StepPolicy::async},
};

constexpr const StrategyTraits& traits_of(StrategyKind kind) {
  return strategies[static_cast<std::size_t>(kind)];
}

constexpr std::string_view to_string(StrategyKind kind) {
  return traits_of(kind).name;
}
std::optional<StrategyKind> strategy_named(std::string_view name);

/// What `plan` and `compare` add to the name of a strategy with parallel.offload.
inline constexpr std::string_view offload_suffix = "_offload";

/// The config's words, those of strategies that divide at least so much; or of them those whose
/// workers meet in every step.
std::vector<std::string> strategy_names(Divided least = Divided::nothing);
std::vector<std::string> synchronous_names(Divided least);

} // namespace troupe
