#include "gpu/cudnn/detail/operation_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe::gpu::cudnn {

namespace {

struct ToText {
  std::string operator()(const ConvolutionOp& op) const {
    return fmt::format("conv{} x{} w{} y{} s{} p{}", static_cast<int>(op.direction), op.x, op.w,
                       op.y, op.stride, op.padding);
  }
  std::string operator()(const PointwiseOp& op) const {
    return fmt::format("pw{} x{} b{} y{} t{} f{}", static_cast<int>(op.mode), op.x, op.b, op.y,
                       op.t, op.b_factor);
  }
  std::string operator()(const GenStatsOp& op) const {
    return fmt::format("stats x{} s{} q{}", op.x, op.sum, op.square_sum);
  }
  std::string operator()(const BnBackwardWeightsOp& op) const {
    return fmt::format("dbn x{} dy{} {} {} {} -> {} {} {} {} {}", op.x, op.dy, op.mean, op.inv_std,
                       op.scale, op.dscale, op.dbias, op.a, op.b, op.c);
  }
  std::string operator()(const GenIndexOp& op) const {
    return fmt::format("index{} x{} y{}", op.axis, op.x, op.y);
  }
  std::string operator()(const MatmulOp& op) const {
    return fmt::format("matmul a{} b{} c{}", op.a, op.b, op.c);
  }
  std::string operator()(const ReductionOp& op) const {
    return fmt::format("reduce{} x{} y{}", static_cast<int>(op.mode), op.x, op.y);
  }
  std::string operator()(const TransposeOp& op) const {
    return fmt::format("transpose x{} y{}", op.x, op.y);
  }
};

std::string text_of(const TensorSpec& tensor) {
  auto text = fmt::format("{}:{}:{}{}", tensor.uid, static_cast<int>(tensor.type),
                          fmt::join(tensor.dims, "x"), tensor.is_virtual ? "v" : "");
  if (tensor.strides)
    text += fmt::format(" strides {}", fmt::join(*tensor.strides, ","));
  if (tensor.is_scratch)
    text += " scratch";
  if (tensor.value)
    text += fmt::format(" = {}", *tensor.value);
  return text;
}

/// Returns the uids that an operation writes.
struct Results {
  std::vector<Uid> operator()(const ConvolutionOp& op) const {
    using Direction = ConvolutionOp::Direction;
    return {op.direction == Direction::forward         ? op.y
            : op.direction == Direction::backward_data ? op.x
                                                       : op.w};
  }
  std::vector<Uid> operator()(const GenStatsOp& op) const { return {op.sum, op.square_sum}; }
  std::vector<Uid> operator()(const BnBackwardWeightsOp& op) const {
    return {op.dscale, op.dbias, op.a, op.b, op.c};
  }
  std::vector<Uid> operator()(const MatmulOp& op) const { return {op.c}; }
  template <class Op>
  std::vector<Uid> operator()(const Op& op) const {
    return {op.y};
  }
};

bool is_written(const OperationGraph& graph, Uid uid) {
  return std::ranges::any_of(graph.operations, [uid](const Operation& operation) {
    return std::ranges::count(std::visit(Results{}, operation), uid) > 0;
  });
}

double elements_of(const TensorSpec& tensor) {
  double elements = 1;
  for (const auto size : tensor.dims)
    elements *= static_cast<double>(size);
  return elements;
}

std::size_t bytes_per_element(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

struct Operations {
  const OperationGraph& graph;

  /// Counts for each element of y one product with every weight of its channel; the same for each
  /// direction.
  double operator()(const ConvolutionOp& op) const {
    const auto& w = *graph.find(op.w);
    return 2 * elements_of(*graph.find(op.y)) * elements_of(w) / static_cast<double>(w.dims[0]);
  }
  double operator()(const MatmulOp& op) const {
    return 2 * graph.unmasked * elements_of(*graph.find(op.a)) *
           static_cast<double>(graph.find(op.c)->dims[3]);
  }
  template <class Op>
  double operator()(const Op&) const {
    return 0;
  }
};

} // namespace

Dims channels_last_strides(const Dims& dims) {
  const auto [n, c, h, w] = dims;
  return {h * w * c, 1, w * c, c};
}

std::size_t TensorSpec::bytes() const {
  const auto distances = layout();
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i)
    last += (dims[i] - 1) * distances[i];
  return static_cast<std::size_t>(last + 1) * bytes_per_element(type);
}

const TensorSpec* OperationGraph::find(Uid uid) const {
  const auto found = std::ranges::find(tensors, uid, &TensorSpec::uid);
  return found != tensors.end() ? &*found : nullptr;
}

std::string OperationGraph::canonical_text() const {
  std::string text;
  for (const auto& tensor : tensors)
    text += text_of(tensor) + ";";
  for (const auto& operation : operations)
    text += std::visit(ToText{}, operation) + ";";
  return text;
}

bool OperationGraph::is_attention() const {
  return std::ranges::any_of(operations, [](const Operation& operation) {
    return std::holds_alternative<MatmulOp>(operation);
  });
}

Traffic traffic_of(const OperationGraph& graph) {
  Traffic traffic{.launches = 1};
  for (const auto& tensor : graph.tensors) {
    if (!tensor.is_bound())
      continue;
    const double bytes = elements_of(tensor) * static_cast<double>(bytes_per_element(tensor.type));
    (is_written(graph, tensor.uid) ? traffic.written : traffic.read) += bytes;
    if (tensor.type != CUDNN_DATA_FLOAT)
      traffic.operation_class = OperationClass::narrow;
  }
  for (const auto& operation : graph.operations)
    traffic.operations += std::visit(Operations{graph}, operation);
  if (graph.is_attention())
    traffic.operation_class = OperationClass::cudnn_attention;
  return traffic;
}

} // namespace troupe::gpu::cudnn
