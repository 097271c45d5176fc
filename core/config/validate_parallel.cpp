// Conflicts of how a job is spread over workers.
#include "core/config/detail/check.hpp"

#include <fmt/ranges.h>

namespace troupe {

namespace {

/// Decides as a job does. A CUDA device that is requested and missing is another conflict.
bool uses_cuda(const DevicesConfig& devices, const Capabilities& capabilities) {
  return devices.kind != DeviceKind::cpu && devices.engine != Engine::interpreter &&
         capabilities.cuda_build && capabilities.cuda_devices > 0;
}

/// Whether devices are CUDA, as far as the config and this machine determine it.
bool takes_cuda(const DevicesConfig& devices, const Capabilities& capabilities) {
  return devices.kind == DeviceKind::cuda ||
         (!capabilities.any_machine && uses_cuda(devices, capabilities) &&
          capabilities.cuda_devices >= devices.count);
}

/// Checks that each given slice has at least one sample and each worker at least one slice.
void check_given_slices(ConfigCheck& check, std::int64_t slices) {
  const auto& config = check.config;
  const auto batch = config.data.batch_size, workers = config.workers();
  const auto accumulate = config.train.accumulate;
  if (accumulate > 1 && (slices % accumulate != 0 || slices / accumulate != workers))
    return check.refuse(
        {"data.slices", "train.accumulate", "devices.count", "cluster.nodes"},
        fmt::format("{} slices are not {} workers x {} micro-batches", slices, workers, accumulate),
        "set only one of data.slices and train.accumulate");
  if (slices > batch)
    return check.refuse({"data.slices", "data.batch_size"},
                        fmt::format("{} samples are too few for {} slices", batch, slices),
                        fmt::format("at most {}", batch));
  if (slices < workers)
    return check.refuse({"data.slices", "devices.count", "cluster.nodes"},
                        fmt::format("{} slices are too few for {} workers", slices, workers),
                        fmt::format("at least {}", workers));
  if (config.model.sync_batch_norm && slices % workers != 0)
    return check.refuse(
        {"data.slices", "model.sync_batch_norm", "devices.count", "cluster.nodes"},
        fmt::format("{} slices cannot be assigned in equal numbers to {} workers, as "
                    "model.sync_batch_norm requires",
                    slices, workers),
        fmt::format("{} or {}", slices - slices % workers, slices - slices % workers + workers));
}

/// Checks whether slices can be assigned unevenly.
void check_slice_assignment(ConfigCheck& check) {
  const auto& config = check.config;
  if (!config.data.reassigns())
    return;
  const std::string key = config.data.replay_assignment ? "data.replay_assignment" : "data.balance";
  if (config.model.sync_batch_norm)
    return check.refuse({key, "model.sync_batch_norm"},
                        "model.sync_batch_norm requires equal numbers of slices on all workers",
                        "data.balance: even, or model.sync_batch_norm: false");
  if (config.data.replay_assignment && config.data.balance == SliceBalance::speed)
    return check.refuse({"data.replay_assignment", "data.balance"},
                        "slices are assigned either as recorded or by speed",
                        "set only one of the two");
  if (config.slices() <= config.workers())
    return check.refuse({key, "data.slices", "devices.count", "cluster.nodes"},
                        fmt::format("with {} slices for {} workers there is nothing to balance",
                                    config.slices(), config.workers()),
                        fmt::format("more slices than workers, for example four times as many: {}",
                                    4 * config.workers()));
}

/// Checks that a global batch has a sample for each slice.
void check_slices(ConfigCheck& check) {
  const auto& config = check.config;
  if (const auto slices = config.data.slices)
    return check_given_slices(check, *slices);
  const auto batch = config.data.batch_size, micro = config.train.accumulate;
  const auto workers = config.workers();
  // Divides the batch, because a product of the other two could overflow.
  if (micro > batch || workers > batch / micro)
    check.refuse({"data.batch_size", "devices.count", "cluster.nodes", "train.accumulate"},
                 fmt::format("{} samples are too few for {} workers x {} micro-batches", batch,
                             workers, micro),
                 "at least devices.count x cluster.nodes.min x train.accumulate");
}

bool has_no_state(const OptimizerConfig& optimizer) {
  return optimizer.name == OptimizerKind::sgd && optimizer.momentum == 0;
}

/// "zero3, fsdp, hsdp"
std::string dividing_parameters() {
  return fmt::format("{}",
                     fmt::join(strategy_names(Divided::parameters, StepPolicy::every_step), ", "));
}

/// Conflicts with workers that do not wait for each other.
void check_async(ConfigCheck& check) {
  const auto& config = check.config;
  const auto& parallel = config.parallel;
  if (traits_of(parallel.strategy).policy != StepPolicy::async)
    return;
  const auto& async = parallel.async;
  if (config.train.clip_grad_norm && async.staleness > 0)
    check.refuse({"train.clip_grad", "parallel.async.staleness"},
                 "gradients of several parameter versions have no common norm",
                 "train.clip_grad.value, or parallel.async.staleness: 0");
  if (config.model.sync_batch_norm)
    check.refuse({"model.sync_batch_norm", "parallel.strategy"},
                 "workers that do not wait for each other cannot sum batch statistics",
                 "false, or another strategy");
  if (config.data.reassigns())
    check.refuse({config.data.replay_assignment ? "data.replay_assignment" : "data.balance",
                  "parallel.strategy"},
                 "each slice is assigned to the next free worker",
                 "data.balance: even, or another strategy");
  if (parallel.mixed_precision != MixedPrecisionConfig{})
    check.refuse({"parallel.mixed_precision", "parallel.strategy"},
                 "parameters and gradients are sent in fp32", "fp32, or another strategy");
  if (parallel.offloads())
    check.refuse({"parallel.offload", "parallel.strategy"}, "shards are on their owners' devices",
                 "none, or another strategy");
  if (async.policy != StaleGradients::whole && async.staleness == 0)
    check.refuse({"parallel.async.policy", "parallel.async.staleness"},
                 "without staleness no gradient is stale",
                 "whole, or parallel.async.staleness: 1 or more");
  if (async.prediction && async.staleness == 0)
    check.refuse({"parallel.async.prediction", "parallel.async.staleness"},
                 "without staleness no parameters are stale",
                 "false, or parallel.async.staleness: 1 or more");
  if (async.prediction && async.policy == StaleGradients::compensated)
    check.refuse({"parallel.async.prediction", "parallel.async.policy"},
                 "staleness would be corrected twice",
                 "prediction: false, or policy: whole or divided");
}

/// Conflicts with replica groups, each of which has its own state.
void check_diloco(ConfigCheck& check) {
  const auto& config = check.config;
  const auto& parallel = config.parallel;
  const auto& diloco = parallel.diloco;
  if (!parallel.has_replica_groups())
    return;
  if (config.model.sync_batch_norm)
    check.refuse({"model.sync_batch_norm", "parallel.strategy"},
                 "replica groups do not sum each other's batch statistics",
                 "false, or another strategy");
  if (parallel.mixed_precision.buffers != DType::f32)
    check.refuse({"parallel.mixed_precision", "parallel.strategy"},
                 "statistics of replica groups are averaged in fp32",
                 "buffers: fp32, or another strategy");
  if (parallel.offloads())
    check.refuse({"parallel.offload", "parallel.strategy"},
                 "replica groups have their state on their devices", "none, or another strategy");
  const auto workers = config.workers(), size = diloco.group_size;
  if (workers % size != 0)
    check.refuse(
        {"parallel.diloco.group_size", "devices.count", "cluster.nodes"},
        fmt::format("{} workers cannot be divided into replica groups of {}", workers, size),
        fmt::format("a divisor of {}; devices.count makes one group per host", workers));
  else if (diloco.quorum && *diloco.quorum > workers / size)
    check.refuse({"parallel.diloco.quorum", "parallel.diloco.group_size", "cluster.nodes"},
                 fmt::format("the number of replica groups is {}", workers / size),
                 fmt::format("at most {}, or null: all", workers / size));
  if (diloco.overlap >= diloco.steps)
    check.refuse(
        {"parallel.diloco.overlap", "parallel.diloco.steps"},
        fmt::format("a fragment's next round would end after {} steps, before this one is applied",
                    diloco.steps),
        fmt::format("at most {}", diloco.steps - 1));
  if (diloco.compress == Compression::int4 && !diloco.error_feedback)
    check.refuse({"parallel.diloco.compress.error_feedback", "parallel.diloco.compress"},
                 "without error feedback each round would lose the rounding errors of int4, "
                 "which has only 15 values",
                 "true, or type: int8");
  if (diloco.nesterov && diloco.momentum == 0)
    check.refuse({"parallel.diloco.momentum.nesterov", "parallel.diloco.momentum"},
                 "nesterov has no effect without momentum", "false, or a momentum above 0");
}

/// Conflicts with averaging in rounds.
void check_local_sgd(ConfigCheck& check) {
  const auto& config = check.config;
  const auto& parallel = config.parallel;
  if (traits_of(parallel.strategy).policy != StepPolicy::local_sgd)
    return;
  if (config.model.sync_batch_norm)
    check.refuse({"model.sync_batch_norm", "parallel.strategy"},
                 "workers that train independently do not sum each other's batch statistics",
                 "false, or another strategy");
  const auto& types = parallel.mixed_precision;
  if (types.reduce != DType::f32 || types.buffers != DType::f32)
    check.refuse({"parallel.mixed_precision", "parallel.strategy"},
                 "parameters and statistics are averaged in fp32", "fp32, or another strategy");
  if (parallel.offloads())
    check.refuse({"parallel.offload", "parallel.strategy"},
                 "local_sgd workers have their state on their devices",
                 "none, or another strategy");
  const auto& optimizer = config.train.optimizer;
  if (parallel.local_sgd.momentum != OptimizerAtRound::kept && has_no_state(optimizer))
    check.refuse({"parallel.local_sgd.momentum", "train.optimizer.momentum"},
                 fmt::format("sgd without momentum has no state that could be {}",
                             to_string(parallel.local_sgd.momentum)),
                 "kept, or a momentum above 0");
}

void check_offload(ConfigCheck& check) {
  const auto& config = check.config;
  const auto& offload = config.parallel.offload;
  using Target = OffloadConfig::Target;
  const auto& traits = traits_of(config.parallel.strategy);
  if (offload.target == Target::none)
    return;
  if (traits.root_only)
    check.refuse(
        {"parallel.offload", "parallel.strategy"},
        fmt::format("{} has the optimizer only on worker 0, and offloads nothing", traits.name),
        "none, or another strategy");
  else if (offload.target == Target::parameters && !config.parallel.divides_parameters())
    check.refuse({"parallel.offload", "parallel.strategy"},
                 fmt::format("{} keeps all parameters on each device", traits.name),
                 "optimizer, or strategy " + dividing_parameters());
  if (offload.target == Target::optimizer && has_no_state(config.train.optimizer))
    check.refuse({"parallel.offload", "train.optimizer.momentum"},
                 "sgd without momentum has no state to offload",
                 "none, or parameters with " + dividing_parameters());
  if (uses_cuda(config.devices, check.capabilities) && !check.capabilities.cuda_pinned)
    check.refuse({"parallel.offload", "devices.kind"},
                 "this CUDA device shares the host's memory: there is no separate pinned "
                 "memory to offload to",
                 "none, or devices.kind: cpu");
}

} // namespace

void check_parallel(ConfigCheck& check) {
  const auto& config = check.config;
  const auto& parallel = config.parallel;
  const auto workers = config.workers();
  const auto& traits = traits_of(parallel.strategy);
  if (traits.alone && workers != 1)
    check.refuse(
        {"parallel.strategy", "devices.count", "cluster.nodes"},
        fmt::format("strategy {} is for one worker, but there are {}", traits.name, workers),
        "ddp, or devices.count: 1 and cluster.nodes: 1");
  if (parallel.has_shard_groups() && workers % parallel.shard_group != 0)
    check.refuse({"parallel.shard_group", "devices.count", "cluster.nodes"},
                 fmt::format("{} workers cannot be divided into groups of {}", workers,
                             parallel.shard_group),
                 fmt::format("a divisor of {}; fsdp makes one group", workers));
  if (parallel.mixed_precision.parameters != DType::f32 && !parallel.divides_parameters())
    check.refuse({"parallel.mixed_precision", "parallel.strategy"},
                 fmt::format("{} does not gather parameters", traits.name),
                 "parameters: fp32, or strategy " + dividing_parameters());
  const bool replicates = parallel.replicate_shards == ReplicateShards::on;
  if (replicates && traits.divides == Divided::nothing)
    check.refuse(
        {"parallel.replicate_shards", "parallel.strategy"},
        fmt::format("{} shards no state that could be lost with a host", traits.name),
        fmt::format("auto, or strategy {}", fmt::join(strategy_names(Divided::optimizer), ", ")));
  if (replicates && config.cluster.max_nodes < 2)
    check.refuse({"parallel.replicate_shards", "cluster.nodes"},
                 "a single node has no other host for replicas",
                 "auto, or cluster.nodes.max: 2 or more");
  if (config.model.sync_batch_norm && config.cluster.max_nodes > 1 &&
      takes_cuda(config.devices, check.capabilities))
    check.refuse({"model.sync_batch_norm", "devices.kind", "cluster.nodes"},
                 "CUDA workers of several nodes cannot synchronize batch norm yet",
                 "false; devices.kind: cpu; one node");
  check_slices(check);
  check_slice_assignment(check);
  check_local_sgd(check);
  check_diloco(check);
  check_async(check);
  check_offload(check);
}

} // namespace troupe
