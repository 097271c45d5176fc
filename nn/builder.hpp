/// Builds a forward graph, one module after another, with PyTorch's names.
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"
#include "nn/shape_rules.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

struct LinearOptions {
  std::string output = {}; ///< name of the output; empty: the module's name
  bool bias = true;
  /// Initial value of the weight; if set, the bias begins as 0. The default is that of linear().
  std::optional<Initial> weight = std::nullopt;
};

/// Each module has a name: its first output has this name, its parameters are NAME.weight and so
/// on. After an error, later calls do nothing and finish() returns the first error, so that a
/// model's code needs no checks.
class GraphBuilder {
public:
  /// Begins a unit for everything that is added from now on. Tensors added before the first unit
  /// belong to it.
  void begin_unit(std::string name);

  TensorId input(std::string name, Shape shape, DType dtype = DType::f32);
  TensorId target(std::string name, Shape shape, DType dtype);
  TensorId parameter(std::string name, Shape shape, Initial initial);
  TensorId statistic(std::string name, Shape shape, Initial initial);

  // Parameters begin with the initial values of torchvision's models.

  /// x (N, H, W, C) -> (N, H', W', out); no bias. The weight begins normal, with variance 2 /
  /// fan_out (He et al. 2015).
  TensorId conv2d(const std::string& name, TensorId x, std::int64_t out,
                  const Conv2dAttributes& attributes);
  /// x (N, ..., C). Scale and shift are named weight and bias, as in PyTorch. Scale and running
  /// variance begin as 1, shift and running mean as 0.
  TensorId batch_norm(const std::string& name, TensorId x, bool training);
  /// Normalizes each row of C values of x (N, ..., C). Scale and shift, named weight and bias,
  /// begin as 1 and 0.
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
  /// x (N, in) -> (N, out): a matmul and a bias. The output has the name in `options`, or else the
  /// module's; the product without bias is named "NAME.product". Both parameters begin uniform
  /// within 1 / sqrt(fan_in), which is PyTorch's kaiming_uniform with a = sqrt(5).
  TensorId linear(const std::string& name, TensorId x, std::int64_t out,
                  const LinearOptions& options = {});
  TensorId softmax_cross_entropy(const std::string& name, TensorId logits, TensorId labels,
                                 float label_smoothing);
  TensorId mean_squared_error(const std::string& name, TensorId prediction, TensorId target);
  TensorId count_correct(const std::string& name, TensorId logits, TensorId labels);

  /// Adds any forward op except cast. `suffixes` name the outputs after the first
  /// ("NAME.saved_mean"). Losses and counts get the role output. Returns the first output.
  TensorId apply(Op op, const std::string& name, std::vector<TensorId> inputs,
                 Attributes attributes = {}, const std::vector<std::string>& suffixes = {});

  /// Returns the shape of a tensor added before; a scalar after an error.
  const Shape& shape(TensorId id) const;

  /// Returns the validated graph, or the first error.
  Result<Graph> finish() &&;

private:
  TensorId add_tensor(std::string name, Shape shape, DType dtype, Role role, Initial initial = {});
  /// Returns the shape of a tensor with one value per element of the last dimension.
  Shape channels_of(TensorId x) const;
  UnitId unit() const {
    return graph_.units.empty() ? 0 : static_cast<UnitId>(graph_.units.size()) - 1;
  }

  Graph graph_;
  Status status_;
};

} // namespace troupe::nn
