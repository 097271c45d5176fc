/// Runs all passes in order, from a config to the input of Device::compile.
#pragma once

#include "core/config/recompute.hpp"
#include "core/graph/precision.hpp"
#include "nn/models/models.hpp"
#include "nn/pass_mode.hpp"
#include "nn/passes/autocast.hpp"
#include "nn/passes/cache_attention.hpp"
#include "nn/passes/fold_batch_norm.hpp"
#include "nn/passes/format_input.hpp"
#include "nn/passes/fuse.hpp"
#include "nn/passes/fuse_training.hpp"
#include "nn/passes/plan_memory.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

struct PassOptions {
  FusePatterns fuse = FusePatterns::none(); ///< patterns that the device supports
  Precision precision = Precision::fp32;    ///< prepare_model sets it from the config
  AutocastRegions autocast_off = {};        ///< for amp_fp16 and amp_bf16; likewise from the config
  InputFormat input = {}; ///< format of the images that the device's loader writes
  /// Evaluation with constant parameters: folds batch norms into convolutions if `fuse` has
  /// convolution_bias. This changes the parameters (PreparedModel::foldings).
  bool fold_batch_norm = false;
  std::optional<CacheOptions> cache = {}; ///< evaluation: continues texts
  bool scale_loss = true; ///< if the precision needs it; prepare_model sets it from the config
  /// Training: argument of normalize_loss. If 0, the loss is the mean over the micro-batch's
  /// labels.
  double loss_rows = 0;
  /// Training, for the passes of fuse_training.hpp: the nodes that the device supports, and their
  /// times.
  FusionSupport fuse_statistics = {};
  bool sync_batch_norm = false;         ///< training; prepare_model sets it from the config
  std::vector<std::string> freeze = {}; ///< training; prepare_model sets it from the config
  RecomputeConfig recompute = {};       ///< training; prepare_model sets it from the config
  PlanOptions memory = {};              ///< tensors in its `keep` list are also not fused away
};

/// Effect of train.recompute on a training graph.
struct RecomputeEffect {
  std::size_t arena_without = 0; ///< bytes of the arena without recomputation
  double operations_ratio = 0;   ///< recomputed / other operations (nn/cost.hpp)
};

struct PreparedModel {
  Graph graph;
  MemoryPlan memory;                        ///< for CompileOptions::memory
  std::optional<RecomputeEffect> recompute; ///< if train.recompute is set
  std::vector<BatchNormFolding> foldings;   ///< the folded batch norms
};

/// Applies the passes to a forward graph that was built for `pass_mode`. The order is format_input,
/// autocast, cache_attention if set, and fuse. Evaluation then runs fold_batch_norm if set.
/// Training then runs normalize_loss, sync_batch_norm, autodiff, scale_loss, drop_casts,
/// fuse_statistics, fuse_max_pool, fuse_loss, fuse_linear_loss, fuse_norms, fuse_bias_gradients and
/// narrow_shared_weights; if nothing has to be recomputed, fuse_block_ends, finish_block_ends,
/// fuse_norms across units and fuse_gelu; and recompute. plan_memory is last. The result is
/// validated.
///
/// tf32 has fp32's graph; only the device's arithmetic differs. fp16 and bf16 have autocast's
/// graph, which leaves the ops of PyTorch's f32 list, such as losses, in f32. Parameters, gradients
/// and statistics are rounded when they are stored (core/device/rounded_executable.hpp). Errors:
/// invalid_input for modules or units that the graph does not have, and for activations that cannot
/// be made to fit; those of cache_attention.
Result<PreparedModel> run_passes(const Graph& forward, PassMode pass_mode,
                                 const PassOptions& options);

/// Runs build_model and run_passes. `batch` is the micro-batch of one worker. Training and
/// evaluation have the same parameters and statistics in the same order. Errors: those of
/// build_model and run_passes. The device's compile() reports nodes that it does not support.
Result<PreparedModel> prepare_model(const Config& config, std::int64_t batch, PassMode pass_mode,
                                    PassOptions options);

/// Returns the type in which a loader may write the images of a config's model: the compute type,
/// or f32 if autocast is off somewhere in the unit that reads them.
DType image_type(const Config& config);

} // namespace troupe::nn
