/// Builds a forward graph, one module after the other, under PyTorch's names.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"
#include "nn/shape_rules.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

struct LinearOptions {
  std::string output = {}; ///< what the output is called; empty: as the module
  bool bias = true;
  /// Of the weight; the bias begins as 0 then. Not set: as linear() says.
  std::optional<Initial> weight = std::nullopt;
};

/// Every module has a name; its first output is called by it, its parameters NAME.weight and so on.
/// The first error sticks: later calls do nothing and finish() hands it out, so that a model reads
/// top to bottom without checks.
class GraphBuilder {
public:
  /// What is added from now on belongs to this unit; what was added before the first, to the first.
  void begin_unit(std::string name);

  TensorId input(std::string name, Shape shape, DType dtype = DType::f32);
  TensorId target(std::string name, Shape shape, DType dtype);
  TensorId parameter(std::string name, Shape shape, Initial initial);
  TensorId statistic(std::string name, Shape shape, Initial initial);

  // Parameters begin as torchvision's models have them.

  /// x (N, H, W, C) -> (N, H', W', out); no bias. The weight begins normal, with variance
  /// 2 / fan_out (He et al. 2015).
  TensorId conv2d(const std::string& name, TensorId x, std::int64_t out,
                  const Conv2dAttributes& attributes);
  /// x (N, ..., C); scale and shift are called weight and bias, as PyTorch does. Scale and running
  /// variance begin as 1, shift and running mean as 0.
  TensorId batch_norm(const std::string& name, TensorId x, bool training);
  /// x (N, ..., C): every row of C is normalized. Scale and shift, called weight and bias, begin as
  /// 1 and 0.
  TensorId layer_norm(const std::string& name, TensorId x,
                      const LayerNormAttributes& attributes = {});
  TensorId relu(const std::string& name, TensorId x);
  TensorId gelu(const std::string& name, TensorId x, const GeluAttributes& attributes = {});
  TensorId add(const std::string& name, TensorId a, TensorId b);
  TensorId max_pool(const std::string& name, TensorId x, const PoolAttributes& attributes);
  TensorId avg_pool(const std::string& name, TensorId x, const PoolAttributes& attributes);
  /// x (N, H, W, C) -> (N, 1, 1, C).
  TensorId global_avg_pool(const std::string& name, TensorId x);
  TensorId subsample_pad(const std::string& name, TensorId x,
                         const SubsamplePadAttributes& attributes);
  TensorId flatten(const std::string& name, TensorId x);
  /// x (N, in) -> (N, out): a matmul and a bias, whose output has the module's name or this one;
  /// the product alone is called "NAME.product". Both begin uniform within 1 / sqrt(fan_in), which
  /// is PyTorch's kaiming_uniform with a = sqrt(5).
  TensorId linear(const std::string& name, TensorId x, std::int64_t out,
                  const LinearOptions& options = {});
  TensorId softmax_cross_entropy(const std::string& name, TensorId logits, TensorId labels,
                                 float label_smoothing);
  TensorId mean_squared_error(const std::string& name, TensorId prediction, TensorId target);
  TensorId count_correct(const std::string& name, TensorId logits, TensorId labels);

  /// Any forward op but cast; `suffixes` name the outputs after the first ("NAME.saved_mean").
  /// Losses and counts get the role output. Returns the first output.
  TensorId apply(Op op, const std::string& name, std::vector<TensorId> inputs,
                 Attributes attributes = {}, const std::vector<std::string>& suffixes = {});

  /// Shape of a tensor added before; a scalar after an error.
  const Shape& shape(TensorId id) const;

  /// The validated graph, or the first error.
  Result<Graph> finish() &&;

private:
  TensorId add_tensor(std::string name, Shape shape, DType dtype, Role role, Initial initial = {});
  /// The shape of a value for each of the last dimension.
  Shape channels_of(TensorId x) const;
  UnitId unit() const {
    return graph_.units.empty() ? 0 : static_cast<UnitId>(graph_.units.size()) - 1;
  }

  Graph graph_;
  Status status_;
};

} // namespace troupe::nn
