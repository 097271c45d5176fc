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
    // "t0" remains from an operand that is no longer used: plans are stored under this text.
    return fmt::format("pw{} x{} b{} y{} t0 f{}", static_cast<int>(op.mode), op.x, op.b, op.y,
                       op.b_factor);
  }
  std::string operator()(const GenStatsOp& op) const {
    return fmt::format("stats x{} s{} q{}", op.x, op.sum, op.square_sum);
  }
  std::string operator()(const BnBackwardWeightsOp& op) const {
    return fmt::format("dbn x{} dy{} {} {} {} -> {} {} {} {} {}", op.x, op.dy, op.mean, op.inv_std,
                       op.scale, op.dscale, op.dbias, op.a, op.b, op.c);
  }
};

/// Returns the uids that an operation writes.
struct Results {
  std::vector<Uid> operator()(const ConvolutionOp& op) const {
    using Direction = ConvolutionOp::Direction;
    return {op.direction == Direction::forward         ? op.y
            : op.direction == Direction::backward_data ? op.x
                                                       : op.w};
  }
  std::vector<Uid> operator()(const PointwiseOp& op) const { return {op.y}; }
  std::vector<Uid> operator()(const GenStatsOp& op) const { return {op.sum, op.square_sum}; }
  std::vector<Uid> operator()(const BnBackwardWeightsOp& op) const {
    return {op.dscale, op.dbias, op.a, op.b, op.c};
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

double bytes_per_element(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : 2;
}

/// Counts for each element of y one product with every weight of its channel; the same for each
/// direction.
double operations_of(const OperationGraph& graph, const ConvolutionOp& convolution) {
  const auto& w = *graph.find(convolution.w);
  return 2 * elements_of(*graph.find(convolution.y)) * elements_of(w) /
         static_cast<double>(w.dims[0]);
}

} // namespace

Dims channels_last_strides(const Dims& dims) {
  const auto [n, c, h, w] = dims;
  return {h * w * c, 1, w * c, c};
}

const TensorSpec* OperationGraph::find(Uid uid) const {
  const auto found = std::ranges::find(tensors, uid, &TensorSpec::uid);
  return found != tensors.end() ? &*found : nullptr;
}

std::string OperationGraph::canonical_text() const {
  std::string text;
  for (const auto& tensor : tensors)
    text += fmt::format("{}:{}:{}{};", tensor.uid, static_cast<int>(tensor.type),
                        fmt::join(tensor.dims, "x"), tensor.is_virtual ? "v" : "");
  for (const auto& operation : operations)
    text += std::visit(ToText{}, operation) + ";";
  return text;
}

Traffic traffic_of(const OperationGraph& graph) {
  Traffic traffic{.launches = 1};
  for (const auto& tensor : graph.tensors) {
    if (tensor.is_virtual)
      continue;
    const double bytes = elements_of(tensor) * bytes_per_element(tensor.type);
    (is_written(graph, tensor.uid) ? traffic.written : traffic.read) += bytes;
    if (tensor.type != CUDNN_DATA_FLOAT)
      traffic.operation_class = OperationClass::narrow;
  }
  for (const auto& operation : graph.operations)
    if (const auto* const convolution = std::get_if<ConvolutionOp>(&operation))
      traffic.operations += operations_of(graph, *convolution);
  return traffic;
}

} // namespace troupe::gpu::cudnn
