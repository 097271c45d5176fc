#include "tests/emulation/cudnn/compute.hpp"

#include "tests/emulation/cudnn/batch_norm.hpp"
#include "tests/emulation/cudnn/convolution.hpp"
#include "tests/emulation/cudnn/matrices.hpp"
#include "tests/emulation/cudnn/pointwise.hpp"
#include "tests/emulation/cudnn/slices.hpp"

namespace emulation::cudnn {

namespace {

/// Computes one slice. Operations of images find their arrays in channels-last order.
class Interpreter {
public:
  Interpreter(const Graph& graph, const Arguments& arguments, bool tf32, const Slice& slice)
      : graph_{graph}, arguments_{arguments}, tf32_{tf32}, slice_{slice} {}

  void run(const Node& node) {
    switch (node.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return forward(node);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return backward_data(node);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return backward_filter(node);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return run_pointwise(node);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return statistics(node);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return matmul(node);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return reduction(node);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return reshape(node);
    default:
      return run_batch_norm_backward(node);
    }
  }

private:
  using Name = cudnnBackendAttributeName_t;

  Part part(const Node& node, Name name) const { return part_of(graph_.at(node, name), slice_); }

  static std::byte* first_byte(const Tensor& tensor, const Part& part, void* memory) {
    return static_cast<std::byte*>(memory) +
           static_cast<std::size_t>(part.first) * size_of(tensor.type);
  }

  Array read_part(const Tensor& tensor) const {
    const auto part = part_of(tensor, slice_);
    if (tensor.is_by_value)
      return {part.dims, tensor.strides, {arguments_.numbers.at(tensor.uid)}};
    return read_array(first_byte(tensor, part, arguments_.memory.at(tensor.uid)), tensor.type,
                      part.dims, tensor.strides);
  }

  const Array& read(const Node& node, Name name) {
    const auto& tensor = graph_.at(node, name);
    const auto known = arrays_.find(tensor.uid);
    return known != arrays_.end() ? known->second
                                  : arrays_.emplace(tensor.uid, read_part(tensor)).first->second;
  }

  const std::vector<float>& values(const Node& node, Name name) { return read(node, name).values; }

  /// Returns a factor of a convolution.
  std::vector<float> factor(const Node& node, Name name) {
    auto factors = values(node, name);
    if (tf32_)
      round_to_tf32(factors);
    return factors;
  }

  void write(const Node& node, Name name, Array result) {
    const auto& tensor = graph_.at(node, name);
    const auto part = part_of(tensor, slice_);
    result = arranged(std::move(result), part.dims, tensor.strides);
    round_to(tensor.type, result.values);
    if (tensor.has_memory())
      write_array(result, first_byte(tensor, part, arguments_.memory.at(tensor.uid)), tensor.type,
                  tensor.strides);
    arrays_.insert_or_assign(tensor.uid, std::move(result));
  }

  /// `result` is in the order of the tensor.
  void write(const Node& node, Name name, std::vector<float> result) {
    write(node, name,
          Array{part(node, name).dims, graph_.at(node, name).strides, std::move(result)});
  }

  ConvolutionShape shape(const Node& node, Name x_name, Name w_name, Name y_name) const {
    const auto &x = graph_.at(node, x_name).dims, &w = graph_.at(node, w_name).dims,
               &y = graph_.at(node, y_name).dims;
    return {x[0],
            x[2],
            x[3],
            x[1],
            y[2],
            y[3],
            y[1],
            w[2],
            w[3],
            node.number<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
            node.number<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)};
  }

  void forward(const Node& node) {
    constexpr auto x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                   w = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                   y = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y;
    write(node, y, convolve(shape(node, x, w, y), factor(node, x), factor(node, w)));
  }

  void backward_data(const Node& node) {
    constexpr auto x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                   w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                   y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY;
    write(node, x, convolve_backward_data(shape(node, x, w, y), factor(node, y), factor(node, w)));
  }

  void backward_filter(const Node& node) {
    constexpr auto x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                   w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                   y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY;
    write(node, w,
          convolve_backward_filter(shape(node, x, w, y), factor(node, x), factor(node, y)));
  }

  void run_pointwise(const Node& node) {
    const auto mode = node.number<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    const auto output = outputs_of(node).front();
    const auto dims = part(node, output).dims;
    const auto& like = graph_.at(node, output).strides;
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
      return write(node, output,
                   indices_along(node.number<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS), dims, like));
    const auto input = [&](Name name) {
      return node.has(name) ? arranged(read(node, name), dims, like).values : std::vector<float>{};
    };
    const auto b = node.has(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC)
                       ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC
                       : CUDNN_ATTR_OPERATION_POINTWISE_BDESC;
    const PointwiseInputs inputs{
        input(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), input(b),
        input(CUDNN_ATTR_OPERATION_POINTWISE_TDESC),
        static_cast<float>(node.real(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1)),
        static_cast<float>(node.real(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1))};
    write(node, output, pointwise(mode, inputs));
  }

  void statistics(const Node& node) {
    constexpr auto x = CUDNN_ATTR_OPERATION_GENSTATS_XDESC;
    auto sums =
        channel_sums(values(node, x), static_cast<std::size_t>(graph_.at(node, x).channels()));
    write(node, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, std::move(sums.sums));
    write(node, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, std::move(sums.squares));
  }

  void run_batch_norm_backward(const Node& node) {
    auto gradients =
        batch_norm_backward(values(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC),
                            values(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC),
                            values(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC),
                            values(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC),
                            values(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC));
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, std::move(gradients.dscale));
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, std::move(gradients.dbias));
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, std::move(gradients.a));
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, std::move(gradients.b));
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, std::move(gradients.c));
  }

  void matmul(const Node& node) {
    constexpr auto c = CUDNN_ATTR_OPERATION_MATMUL_CDESC;
    write(node, c,
          multiply(read(node, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                   read(node, CUDNN_ATTR_OPERATION_MATMUL_BDESC), part(node, c).dims));
  }

  void reduction(const Node& node) {
    constexpr auto y = CUDNN_ATTR_OPERATION_REDUCTION_YDESC;
    write(node, y,
          reduce(read(node, CUDNN_ATTR_OPERATION_REDUCTION_XDESC),
                 node.number<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR),
                 part(node, y).dims));
  }

  /// Takes the elements in the order of memory.
  void reshape(const Node& node) {
    write(node, CUDNN_ATTR_OPERATION_RESHAPE_YDESC,
          values(node, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
  }

  const Graph& graph_;
  const Arguments& arguments_;
  bool tf32_;
  Slice slice_;
  std::map<Uid, Array> arrays_;
};

} // namespace

void compute(const Graph& graph, const Arguments& arguments, bool tf32) {
  for (const auto& slice : slices_of(graph)) {
    Interpreter interpreter{graph, arguments, tf32, slice};
    for (const auto& node : graph.nodes)
      interpreter.run(node);
  }
}

} // namespace emulation::cudnn
