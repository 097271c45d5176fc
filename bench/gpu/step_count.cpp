#include "bench/gpu/step_count.hpp"

#include "bench/gpu/node_traffic.hpp"
#include "core/config/augmentation.hpp"
#include "core/device/loss_scale.hpp"
#include "core/fail.hpp"
#include "gpu/lowering/lowering.hpp"
#include "gpu/lowering/storage.hpp"
#include "gpu/lowering/traffic.hpp"
#include "gpu/lowering/weight_gradient.hpp"
#include "nn/optimizer.hpp"
#include "training/platforms/detail/cuda_options.hpp"

#include <numeric>
#include <optional>
#include <vector>

namespace troupe::bench {

namespace {

using gpu::Traffic;

Status check_scope(const Config& config) {
  if (config.workers() != 1)
    return fail(Errc::unsupported,
                "only a step of one worker can be counted, but this config has {} workers; pass "
                "--set devices.count=1 --set cluster.nodes=1",
                config.workers());
  if (config.data.batch_size % config.slices() != 0)
    return fail(Errc::unsupported,
                "a step of {} samples in {} slices of different sizes cannot be "
                "counted",
                config.data.batch_size, config.slices());
  return {};
}

/// Returns the op with what is fused into it.
std::string kind_of(const Node& node) {
  std::string kind{to_string(node.op)};
  if (const auto* const convolution = std::get_if<Conv2dAttributes>(&node.attributes)) {
    kind += convolution->prologue ? " + prologue" : "";
    kind += convolution->residual != Residual::none ? " + residual" : "";
    kind += convolution->statistics ? " + statistics" : "";
    kind += convolution->batch_norm_relu ? " + mask and sums" : "";
  }
  if (const auto* const norm = std::get_if<BatchNormAttributes>(&node.attributes)) {
    kind += norm->add ? " + add" : "";
    kind += norm->pooled ? " + pooled" : "";
    kind += norm->add_gradient ? " + sum" : "";
  }
  if (const auto* const fusion = norm_fusion(node.attributes)) {
    kind += fusion->add ? " + add" : "";
    kind += fusion->add_gradient ? " + sum" : "";
  }
  if (const auto* const pool = std::get_if<PoolAttributes>(&node.attributes))
    kind += pool->prologue ? " + prologue" : "";
  if (node.op == Op::scale_shift && node.inputs.size() > 3)
    kind += " + add";
  return kind;
}

/// Traffic of a kernel over f32 values, with `read` reads and `written` writes per element.
Traffic flat(std::size_t elements, int read, int written) {
  const auto bytes = static_cast<double>(elements * sizeof(float));
  return {.read = read * bytes, .written = written * bytes, .launches = elements > 0 ? 1 : 0};
}

class StepCounter {
public:
  StepCounter(const Config& config, gpu::PlanRegistry& plans) : config_{config}, plans_{plans} {}

  Result<std::vector<CountedWork>> run() {
    TROUPE_TRY(check_scope(config_));
    TROUPE_TRY(prepare());
    TROUPE_TRY(copies());
    const auto before = works_.size();
    TROUPE_TRY(nodes());
    round_results();
    for (auto work = before; work < works_.size(); ++work)
      works_[work].traffic *= slices_;
    TROUPE_TRY(sum_slices());
    TROUPE_TRY(optimize());
    return std::move(works_);
  }

private:
  Status prepare() {
    auto engine = training::cuda_options(config_, plans_);
    engine.passes.input = training::cuda_input(config_, may_augment_on_device(config_.data));
    slices_ = static_cast<int>(config_.slices());
    TROUPE_TRY(model_, nn::prepare_model(config_, config_.data.batch_size / slices_,
                                         nn::PassMode::training, engine.passes));
    compile_ = engine.compile;
    layout_ = gpu::store_parameters(model_.graph);
    elements_ =
        std::accumulate(layout_.unit_elements.begin(), layout_.unit_elements.end(), std::size_t{0});
    precision_ = config_.precision.mode;
    return {};
  }

  void add(std::string kind, std::string what, const std::string& unit, const Traffic& traffic) {
    if (traffic.launches > 0)
      works_.push_back({std::move(kind), std::move(what), unit, traffic});
  }

  /// Copies of the parameters in the type of activations. The optimizer writes them if every unit
  /// has a copy of the same type; otherwise they are refreshed, with one launch per type.
  Status copies() {
    TROUPE_TRY(const auto types, gpu::copy_types(model_.graph));
    copied_ = gpu::common_copy_type(types, layout_.unit_elements);
    for (const auto type : {DType::f16, DType::bf16}) {
      std::size_t elements = 0;
      for (std::size_t unit = 0; unit < types.size() && copied_ == DType::f32; ++unit)
        elements += types[unit] == type ? layout_.unit_elements[unit] : 0;
      if (elements > 0)
        add("refresh", "parameters", "", gpu::cast_traffic(elements, DType::f32, type));
    }
    return {};
  }

  Status nodes() {
    const auto& graph = model_.graph;
    for (const auto& node : graph.nodes) {
      const auto& unit = graph.units[static_cast<std::size_t>(node.unit)];
      TROUPE_TRY(const auto traffic, node_traffic(graph, node, model_.memory, &plans_, compile_));
      add(kind_of(node), graph[node.outputs[0]].name, unit, traffic);
    }
    TROUPE_TRY(const auto casts, widening_traffic(graph, &plans_, compile_));
    for (const auto& [unit, traffic] : casts)
      add("widen", "weight gradients", unit, traffic);
    return {};
  }

  /// For precisions that store everything in fewer bits than f32
  /// (core/device/rounded_executable.hpp).
  void round_results() {
    if (stored_type(precision_) == DType::f32)
      return;
    add("round", "statistics", "", flat(layout_.statistic_elements, 1, 1));
    for (std::size_t unit = 0; unit < layout_.unit_elements.size(); ++unit)
      add("round", "gradients", layout_.unit_names[unit], flat(layout_.unit_elements[unit], 1, 1));
  }

  /// Adds the gradients of each slice after the first to those of the previous ones.
  Status sum_slices() {
    if (slices_ == 1)
      return {};
    if (stored_type(precision_) != DType::f32) {
      sum_rounded_slices();
      return {};
    }
    TROUPE_TRY(const auto summed, elements_added_without_copy());
    for (std::size_t unit = 0; unit < layout_.unit_elements.size(); ++unit) {
      auto traffic = flat(layout_.unit_elements[unit] - summed[unit], 2, 1);
      traffic.read += flat(summed[unit], 1, 0).read;
      traffic *= slices_ - 1;
      add("sum of slices", "gradients", layout_.unit_names[unit], traffic);
    }
    return {};
  }

  /// One unit at a time; the first slice is copied (training/reducer).
  void sum_rounded_slices() {
    for (std::size_t unit = 0; unit < layout_.unit_elements.size(); ++unit) {
      auto traffic = flat(layout_.unit_elements[unit], 2, 1);
      traffic += flat(layout_.unit_elements[unit], 1, 1);
      traffic *= slices_ - 1;
      traffic += flat(layout_.unit_elements[unit], 1, 1);
      add("sum of slices", "gradients", layout_.unit_names[unit], traffic);
    }
  }

  /// Returns the elements of each unit's gradients to which products, or the casts of narrow
  /// gradients, add (Lowering::summed).
  Result<std::vector<std::size_t>> elements_added_without_copy() {
    const auto& graph = model_.graph;
    std::vector<std::size_t> elements(graph.units.size());
    for (const auto& node : graph.nodes) {
      TROUPE_TRY(const auto output, added_without_copy(node));
      if (output && gpu::is_final_gradient(graph, *output))
        elements[static_cast<std::size_t>(node.unit)] +=
            static_cast<std::size_t>(graph[*output].shape.elements());
    }
    return elements;
  }

  Result<std::optional<TensorId>> added_without_copy(const Node& node) {
    if (node.op == Op::matmul_backward_weight)
      return node.outputs[0];
    if (node.op == Op::linear_cross_entropy_backward)
      return node.outputs[1];
    if (node.op != Op::conv2d_backward_weight)
      return std::nullopt;
    TROUPE_TRY(const auto way,
               gpu::weight_gradient(plans_, gpu::policy_of(compile_), model_.graph, node));
    return way.written == DType::f32 ? std::nullopt : std::optional{node.outputs[0]};
  }

  /// The end of a step as training/reducer runs it for a single worker.
  Status optimize() {
    const auto arguments = nn::optimizer_arguments(config_.train.optimizer);
    const bool scaled = loss_scale_options(config_.precision).has_value();
    const Traffic scalar = flat(1, 1, 1);
    if (scaled)
      add("check_finite", "gradients", "", flat(elements_, 1, 0));
    if (config_.train.clip_grad_norm) {
      add("zero", "squared norm", "", flat(1, 0, 1));
      add("add_squared_norm", "gradients", "", flat(elements_, 1, 0));
      add("clip_factor", "squared norm", "", scalar);
    }
    const int slots = arguments.state_slots();
    auto step = flat(elements_, 2 + slots, 1 + slots);
    if (copied_ != DType::f32)
      step.written += static_cast<double>(elements_ * size_of(copied_));
    add("optimizer", std::string{to_string(config_.train.optimizer.name)}, "", step);
    if (scaled)
      add("update_loss_scale", "loss scale", "",
          {.read = sizeof(LossScaleState), .written = sizeof(LossScaleState), .launches = 1});
    return {};
  }

  const Config& config_;
  gpu::PlanRegistry& plans_;
  nn::PreparedModel model_;
  CompileOptions compile_;
  StorageLayout layout_;
  std::size_t elements_ = 0; ///< of all parameters, as stored
  int slices_ = 1;
  Precision precision_ = Precision::fp32;
  DType copied_ = DType::f32; ///< type of the copies that the optimizer writes; f32: it writes none
  std::vector<CountedWork> works_;
};

} // namespace

Result<std::vector<CountedWork>> count_step(const Config& config, gpu::PlanRegistry& plans) {
  return StepCounter{config, plans}.run();
}

gpu::Traffic total(const std::vector<CountedWork>& works) {
  Traffic all;
  for (const auto& work : works)
    all += work.traffic;
  return all;
}

} // namespace troupe::bench
