/// All passes in the right order: from a config to what Device::compile takes.
#pragma once

#include "core/config/recompute.hpp"
#include "core/graph/precision.hpp"
#include "nn/models/models.hpp"
#include "nn/pass_mode.hpp"
#include "nn/passes/autocast_regions.hpp"
#include "nn/passes/cache_attention.hpp"
#include "nn/passes/fold_batch_norm.hpp"
#include "nn/passes/format_input.hpp"
#include "nn/passes/fuse.hpp"
#include "nn/passes/fuse_statistics.hpp"
#include "nn/passes/plan_memory.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

struct PassOptions {
  FusePatterns fuse = FusePatterns::none(); ///< what the engine can run
  Precision precision = Precision::fp32;    ///< prepare_model takes the config's
  AutocastRegions autocast_off = {};        ///< likewise; for amp_fp16 and amp_bf16
  InputFormat input = {};                   ///< what the device's loader writes
  /// Evaluation with parameters that stay as they are: batch norms become part of convolutions,
  /// where `fuse` has convolution_bias. Parameters are others then (PreparedModel::foldings).
  bool fold_batch_norm = false;
  std::optional<CacheOptions> cache = {}; ///< evaluation: the graph goes on with texts
  bool scale_loss = true; ///< where the precision needs it; prepare_model takes the config's
  /// Training: what normalize_loss takes; 0: the loss is the mean over the micro-batch's labels.
  double loss_rows = 0;
  /// Training, fuse_block_ends too: what the device says it can run, and how fast.
  FusionSupport fuse_statistics = {};
  bool sync_batch_norm = false;         ///< training; prepare_model takes the config's
  std::vector<std::string> freeze = {}; ///< training; prepare_model takes the config's
  RecomputeConfig recompute = {};       ///< training; prepare_model takes the config's
  PlanOptions memory = {}; ///< its `keep` list also keeps tensors from being fused away
};

/// What train.recompute did to a training graph.
struct RecomputeEffect {
  std::size_t arena_without = 0; ///< bytes, had nothing been made again
  double operations_ratio = 0;   ///< what is computed again, of what was computed (nn/cost.hpp)
};

struct PreparedModel {
  Graph graph;
  MemoryPlan memory; ///< give it to CompileOptions::memory
  std::size_t memory_lower_bound_bytes = 0;
  std::optional<RecomputeEffect> recompute; ///< where it was asked for
  std::vector<BatchNormFolding> foldings;   ///< what was folded
};

/// Runs format_input, autocast, cache_attention where it was asked for, fuse, then fold_batch_norm
/// likewise, or normalize_loss, sync_batch_norm, autodiff, scale_loss, drop_casts, fuse_statistics,
/// fuse_max_pool, fuse_loss, fuse_linear_loss, fuse_block_ends and finish_block_ends (these two
/// where nothing has to be made again) and recompute when training, then plan_memory, on a forward
/// graph that was built for this purpose. The result is validated. tf32 has fp32's graph: the
/// device computes otherwise. fp16 and bf16 have autocast's, which leaves in f32 what PyTorch's
/// list has there, as losses; parameters, gradients and statistics are rounded where they are
/// stored (core/device/rounded_executable.hpp). Errors: invalid_input for modules or units that the
/// graph does not have, when its activations cannot be made to fit, and as cache_attention.
Result<PreparedModel> run_passes(const Graph& forward, PassMode pass_mode,
                                 const PassOptions& options);

/// build_model and run_passes. `batch` is the micro-batch of one worker. Training and evaluation
/// have the same parameters and statistics, in the same order. Errors: as build_model and
/// run_passes; what a device cannot run of the result, its compile() says.
Result<PreparedModel> prepare_model(const Config& config, std::int64_t batch, PassMode pass_mode,
                                    PassOptions options);

/// The type in which a loader may write the images of a config's model: the compute type, or f32
/// when autocast is off somewhere in the unit that reads them.
DType image_type(const Config& config);

} // namespace troupe::nn
