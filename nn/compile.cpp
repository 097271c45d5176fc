#include "nn/compile.hpp"

#include "core/config/config.hpp"
#include "core/fail.hpp"
#include "nn/config_check.hpp"
#include "nn/cost.hpp"
#include "nn/learning_rates.hpp"
#include "nn/modules.hpp"
#include "nn/passes/annotate.hpp"
#include "nn/passes/autodiff.hpp"
#include "nn/passes/drop_casts.hpp"
#include "nn/passes/fuse_training.hpp"
#include "nn/passes/recompute.hpp"
#include "nn/validate.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

/// Replaces the graph by one that recomputes activations.
Result<RecomputeEffect> apply_recompute(Graph& graph, const PassOptions& options) {
  TROUPE_TRY(const auto again, choose_recompute(graph, options.recompute, options.memory));
  TROUPE_TRY(const auto plain, plan_memory(graph, options.memory));
  const auto operations = cost_of(graph).operations;
  graph = recompute(graph, again);
  return RecomputeEffect{plain.arena_bytes, cost_of(graph).operations / operations - 1};
}

/// Applies the fusions that prevent recomputation or make it expensive, only if nothing has to be
/// recomputed.
Result<Graph> fuse_saved(Graph graph, const PassOptions& options) {
  const auto& recompute = options.recompute;
  const bool fit = recompute.kind == RecomputeConfig::Kind::fit;
  if (recompute.kind != RecomputeConfig::Kind::none && !fit)
    return graph;
  const auto& keep = options.memory.keep;
  const auto& support = options.fuse_statistics;
  auto fused = finish_block_ends(fuse_block_ends(graph, support, keep), support, keep);
  fused = fuse_norms(fused, support, NormSums::of_any_unit, keep);
  fused = fuse_gelu(fused, support, keep);
  if (!fit)
    return fused;
  TROUPE_TRY(const auto planned, plan_memory(fused, options.memory));
  return planned.arena_bytes <= recompute.fit_bytes ? std::move(fused) : std::move(graph);
}

} // namespace

Result<PreparedModel> run_passes(const Graph& forward, PassMode pass_mode,
                                 const PassOptions& options) {
  const auto precision = options.precision;
  TROUPE_TRY(to_status(find_conflicts(options.autocast_off, forward)));
  TROUPE_TRY(to_status(unknown_units("train.recompute", options.recompute.names, forward.units)));
  auto graph = format_input(forward, options.input);
  if (const auto compute = compute_type(precision); compute != DType::f32)
    graph = autocast(graph, compute, is_amp(precision) ? options.autocast_off : AutocastRegions{});
  if (options.cache) {
    TROUPE_TRY(graph, nn::cache_attention(graph, *options.cache));
  }
  // After autocast, because values that are rounded separately must not be fused.
  graph = fuse(graph, options.fuse, options.memory.keep);
  PreparedModel prepared;
  if (pass_mode == PassMode::evaluation && options.fold_batch_norm &&
      options.fuse.convolution_bias) {
    auto folded = nn::fold_batch_norm(graph, options.memory.keep);
    graph = std::move(folded.graph);
    prepared.foldings = std::move(folded.foldings);
  }
  if (pass_mode == PassMode::training) {
    if (options.loss_rows > 0)
      graph = normalize_loss(std::move(graph), options.loss_rows);
    if (options.sync_batch_norm)
      graph = sync_batch_norm(std::move(graph));
    TROUPE_TRY(graph, autodiff(std::move(graph), options.freeze));
    if (options.scale_loss && scales_loss(precision))
      graph = scale_loss(graph);
    graph = drop_casts(graph, options.memory.keep);
    graph = nn::fuse_statistics(graph, options.fuse_statistics, options.memory.keep);
    graph = fuse_max_pool(graph, options.fuse_statistics, options.memory.keep);
    graph = fuse_loss(graph, options.fuse_statistics, options.memory.keep);
    if (options.fuse.linear_loss)
      graph = fuse_linear_loss(graph, options.memory.keep);
    graph = fuse_norms(graph, options.fuse_statistics, NormSums::of_unit, options.memory.keep);
    graph = fuse_bias_gradients(graph, options.fuse_statistics, options.memory.keep);
    graph = narrow_shared_weights(graph, options.fuse_statistics, options.memory.keep);
    TROUPE_TRY(graph, fuse_saved(std::move(graph), options));
  }
  if (pass_mode == PassMode::training && options.recompute.kind != RecomputeConfig::Kind::none) {
    TROUPE_TRY(prepared.recompute, apply_recompute(graph, options));
  }
  TROUPE_TRY(validate(graph));
  TROUPE_TRY(prepared.memory, plan_memory(graph, options.memory));
  prepared.graph = std::move(graph);
  return prepared;
}

Result<PreparedModel> prepare_model(const Config& config, std::int64_t batch, PassMode pass_mode,
                                    PassOptions options) {
  options.precision = config.precision.mode;
  options.autocast_off = config.model.autocast_off;
  options.scale_loss = config.precision.loss_scale.enabled;
  options.recompute = config.train.recompute;
  options.sync_batch_norm = config.model.sync_batch_norm;
  options.freeze = config.train.freeze;
  const bool training = pass_mode == PassMode::training;
  const ModelOptions model{.input = input_spec(config),
                           .batch = batch,
                           .training = training,
                           .label_smoothing =
                               training ? static_cast<float>(config.train.label_smoothing) : 0.0f};
  TROUPE_TRY(const auto forward, build_model(config.model, model));
  TROUPE_TRY(to_status(unknown_units("parallel.wrap", config.parallel.wrap.units, forward.units)));
  TROUPE_TRY(to_status(find_rate_conflicts(config.train, forward)));
  return run_passes(forward, pass_mode, options);
}

DType image_type(const Config& config) {
  if (input_spec(config).vocabulary > 0)
    return DType::i32;
  const auto precision = config.precision.mode;
  const auto& off = config.model.autocast_off;
  if (!is_amp(precision) || off.empty())
    return compute_type(precision);
  const auto graph = build_model(config.model, {.input = input_spec(config), .training = false});
  // The first unit reads the images. All of it counts, because flatten's output is still the
  // images.
  const bool all_on = graph && std::ranges::all_of(graph->nodes, [&](const Node& node) {
                        return node.unit > 0 || is_autocast(module_of(*graph, node), off);
                      });
  return all_on ? compute_type(precision) : DType::f32;
}

} // namespace troupe::nn
