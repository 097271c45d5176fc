#include "gpu/cudnn/lower.hpp"

#include "core/fail.hpp"

#include <array>
#include <map>

namespace troupe::gpu::cudnn {

namespace {

/// All arithmetic is fp32, whatever the tensors' types.
constexpr auto compute_type = CUDNN_DATA_FLOAT;

/// Alignment that cuDNN's engines may assume; the arena's offsets are multiples of it.
constexpr std::int64_t alignment = 16;

using Pair = std::array<std::int64_t, 2>;

Result<Descriptor> lower_tensor(const CudnnLibrary& library, const TensorSpec& tensor) {
  const auto strides = tensor.layout();
  DescriptorBuilder builder(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                            fmt::format("tensor {}", tensor.uid));
  builder.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.uid)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, tensor.type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(tensor.dims))
      .set(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(strides))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  if (tensor.is_virtual)
    builder.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (tensor.value)
    builder.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  return builder.finalize();
}

/// Returns the type that a pointwise function computes in.
cudnnDataType_t math_type(cudnnPointwiseMode_t mode) {
  return mode == CUDNN_POINTWISE_CMP_GE ? CUDNN_DATA_BOOLEAN : compute_type;
}

/// Lowers operations one by one; keeps the tensors, which operations share.
class Lowering {
public:
  explicit Lowering(const CudnnLibrary& library) : library_(library) {}

  const Descriptor& keep(Descriptor descriptor) {
    return parts_.emplace_back(std::move(descriptor));
  }
  std::deque<Descriptor> take_parts() { return std::move(parts_); }

  Status add(const TensorSpec& tensor) {
    TROUPE_TRY(auto descriptor, lower_tensor(library_, tensor));
    tensors_[tensor.uid] = &keep(std::move(descriptor));
    return {};
  }

  Result<Descriptor> operator()(const ConvolutionOp& op) {
    const Pair padding = {op.padding, op.padding};
    const Pair stride = {op.stride, op.stride};
    const Pair dilation = {1, 1};
    TROUPE_TRY(
        auto convolution,
        DescriptorBuilder(library_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution")
            .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute_type)
            .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
            .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
            .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::span<const std::int64_t>(padding))
            .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::span<const std::int64_t>(padding))
            .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::span<const std::int64_t>(stride))
            .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::span<const std::int64_t>(dilation))
            .finalize());
    const auto& kept = keep(std::move(convolution));
    switch (op.direction) {
    case ConvolutionOp::Direction::forward:
      return DescriptorBuilder(library_, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                               "convolution forward")
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor(op.x))
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor(op.w))
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor(op.y))
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kept)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f)
          .finalize();
    case ConvolutionOp::Direction::backward_data:
      return DescriptorBuilder(library_,
                               CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                               "convolution backward data")
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, tensor(op.x))
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, tensor(op.w))
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, tensor(op.y))
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kept)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f)
          .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f)
          .finalize();
    case ConvolutionOp::Direction::backward_filter:
      break;
    }
    return DescriptorBuilder(library_,
                             CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                             "convolution backward filter")
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, tensor(op.x))
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, tensor(op.w))
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, tensor(op.y))
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kept)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0f)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0f)
        .finalize();
  }

  Result<Descriptor> operator()(const PointwiseOp& op) {
    TROUPE_TRY(auto function,
               DescriptorBuilder(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise")
                   .set(CUDNN_ATTR_POINTWISE_MODE, op.mode)
                   .set(CUDNN_ATTR_POINTWISE_MATH_PREC, math_type(op.mode))
                   .finalize());
    const auto& kept = keep(std::move(function));
    DescriptorBuilder builder(library_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                              fmt::format("pointwise {}", static_cast<int>(op.mode)));
    builder.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kept)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(op.x));
    if (op.mode >= CUDNN_POINTWISE_RELU_BWD && op.mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD)
      return builder.set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, tensor(op.b))
          .set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, tensor(op.y))
          .finalize();
    builder.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(op.y));
    if (op.b != 0)
      builder.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(op.b))
          .set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1.0f)
          .set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, op.b_factor);
    if (op.t != 0)
      builder.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensor(op.t));
    return builder.finalize();
  }

  Result<Descriptor> operator()(const GenIndexOp& op) {
    TROUPE_TRY(auto function,
               DescriptorBuilder(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "index")
                   .set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX)
                   .set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute_type)
                   .set(CUDNN_ATTR_POINTWISE_AXIS, op.axis)
                   .finalize());
    return DescriptorBuilder(library_, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "index")
        .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(function)))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(op.x))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(op.y))
        .finalize();
  }

  Result<Descriptor> operator()(const MatmulOp& op) {
    TROUPE_TRY(auto product,
               DescriptorBuilder(library_, CUDNN_BACKEND_MATMUL_DESCRIPTOR, "matrix product")
                   .set(CUDNN_ATTR_MATMUL_COMP_TYPE, compute_type)
                   .finalize());
    return DescriptorBuilder(library_, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "matrix product")
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, keep(std::move(product)))
        .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor(op.a))
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor(op.b))
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor(op.c))
        .finalize();
  }

  Result<Descriptor> operator()(const ReductionOp& op) {
    TROUPE_TRY(auto reduction,
               DescriptorBuilder(library_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "reduction")
                   .set(CUDNN_ATTR_REDUCTION_OPERATOR, op.mode)
                   .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, compute_type)
                   .finalize());
    return DescriptorBuilder(library_, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "reduction")
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, keep(std::move(reduction)))
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensor(op.x))
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensor(op.y))
        .finalize();
  }

  Result<Descriptor> operator()(const TransposeOp& op) {
    return DescriptorBuilder(library_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, "transpose")
        .set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensor(op.x))
        .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensor(op.y))
        .finalize();
  }

  Result<Descriptor> operator()(const GenStatsOp& op) {
    return DescriptorBuilder(library_, CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, "statistics")
        .set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_GENSTATS_SUM_SQSUM)
        .set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, compute_type)
        .set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, tensor(op.x))
        .set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, tensor(op.sum))
        .set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, tensor(op.square_sum))
        .finalize();
  }

  Result<Descriptor> operator()(const BnBackwardWeightsOp& op) {
    return DescriptorBuilder(library_, CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR,
                             "batch norm backward weights")
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, compute_type)
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, tensor(op.x))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, tensor(op.dy))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, tensor(op.mean))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, tensor(op.inv_std))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, tensor(op.scale))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, tensor(op.dscale))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, tensor(op.dbias))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, tensor(op.a))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, tensor(op.b))
        .set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, tensor(op.c))
        .finalize();
  }

private:
  /// Returns a null descriptor for an unknown uid, which cuDNN rejects.
  const Descriptor& tensor(Uid uid) const {
    const auto found = tensors_.find(uid);
    return found != tensors_.end() ? *found->second : none_;
  }

  const CudnnLibrary& library_;
  std::deque<Descriptor> parts_; // growth does not move elements
  std::map<Uid, const Descriptor*> tensors_;
  Descriptor none_;
};

Result<LoweredGraph> lower_all(const Target& target, const OperationGraph& graph) {
  Lowering lowering(target.library());
  for (const auto& tensor : graph.tensors)
    TROUPE_TRY(lowering.add(tensor));
  LoweredGraph lowered;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const auto& operation : graph.operations) {
    TROUPE_TRY(auto descriptor, std::visit(lowering, operation));
    handles.push_back(lowering.keep(std::move(descriptor)).get());
  }
  DescriptorBuilder builder(target.library(), CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "graph");
  builder.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, handles);
  if (target.handle() != nullptr)
    builder.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target.handle());
  TROUPE_TRY(lowered.graph, builder.finalize());
  lowered.parts = lowering.take_parts();
  lowered.own = OwnTensors{graph};
  return lowered;
}

} // namespace

Result<LoweredGraph> lower(const Target& target, const OperationGraph& graph) {
  auto lowered = lower_all(target, graph);
  if (!lowered)
    lowered.error().message = fmt::format("{}: {}", graph.name, lowered.error().message);
  return lowered;
}

} // namespace troupe::gpu::cudnn
