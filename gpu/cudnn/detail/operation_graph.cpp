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

} // namespace

Dims channels_last_strides(const Dims& dims) {
  const auto [n, c, h, w] = dims;
  return {h * w * c, 1, w * c, c};
}

const TensorSpec* OperationGraph::find(Uid uid) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [uid](const auto& tensor) { return tensor.uid == uid; });
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

} // namespace troupe::gpu::cudnn
