#include "tests/emulation/cudnn/compute.hpp"

namespace emulation::cudnn {

namespace {

class Interpreter {
public:
  Interpreter(const Graph& graph, const std::map<Uid, void*>& pointers, bool tf32)
      : graph_{graph}, pointers_{pointers}, tf32_{tf32} {}

  void run(const Node& node) {
    switch (node.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return forward(node);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return backward_data(node);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return backward_filter(node);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return pointwise(node);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return statistics(node);
    default:
      return batch_norm_backward(node);
    }
  }

private:
  using Name = cudnnBackendAttributeName_t;

  const std::vector<float>& read(const Node& node, Name name) {
    const auto& tensor = graph_.at(node, name);
    const auto known = values_.find(tensor.uid);
    if (known != values_.end())
      return known->second;
    return values_[tensor.uid] = load(pointers_.at(tensor.uid), tensor.elements(), tensor.type);
  }

  /// Returns a factor of a convolution.
  std::vector<float> factor(const Node& node, Name name) {
    auto values = read(node, name);
    if (tf32_)
      round_to_tf32(values);
    return values;
  }

  void write(const Node& node, Name name, const std::vector<float>& result) {
    const auto& tensor = graph_.at(node, name);
    std::vector<std::byte> stored(tensor.bytes());
    auto* const to = tensor.is_virtual ? stored.data() : pointers_.at(tensor.uid);
    store(result, to, tensor.type);
    values_[tensor.uid] = load(to, tensor.elements(), tensor.type);
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

  void pointwise(const Node& node) {
    const auto mode = node.number<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    const auto x = read(node, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    std::vector<float> y(x.size());
    const auto each = [&](auto function) {
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = function(i);
      write(node, outputs_of(node).front(), y);
    };
    if (mode == CUDNN_POINTWISE_IDENTITY)
      return each([&](std::size_t i) { return x[i]; });
    if (mode == CUDNN_POINTWISE_RELU_FWD)
      return each([&](std::size_t i) { return x[i] < 0 ? 0 : x[i]; });
    if (mode == CUDNN_POINTWISE_RELU_BWD) {
      const auto dy = read(node, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC);
      return each([&](std::size_t i) { return x[i] > 0 ? dy[i] : 0; });
    }
    // b has all elements or one per channel; channels are the innermost dimension.
    const auto b = read(node, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const auto first = static_cast<float>(node.real(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1)),
               second = static_cast<float>(node.real(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1));
    if (mode == CUDNN_POINTWISE_MUL)
      return each([&](std::size_t i) { return first * x[i] * second * b[i % b.size()]; });
    each([&](std::size_t i) { return first * x[i] + second * b[i % b.size()]; });
  }

  void statistics(const Node& node) {
    const auto& x = read(node, CUDNN_ATTR_OPERATION_GENSTATS_XDESC);
    const auto channels =
        static_cast<std::size_t>(graph_.at(node, CUDNN_ATTR_OPERATION_GENSTATS_XDESC).channels());
    std::vector<double> sums(channels), squares(channels);
    for (std::size_t i = 0; i < x.size(); ++i) {
      sums[i % channels] += static_cast<double>(x[i]);
      squares[i % channels] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    write(node, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, {sums.begin(), sums.end()});
    write(node, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, {squares.begin(), squares.end()});
  }

  /// With h = (x - mean)·inv_std over M values: dscale = sum(dy·h), dbias = sum(dy), and dx =
  /// scale·inv_std·(dy - dbias/M - h·dscale/M) as a·dy + b·x + c.
  void batch_norm_backward(const Node& node) {
    const auto x = read(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC),
               dy = read(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC),
               mean = read(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC),
               inv_std = read(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC),
               scale = read(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC);
    const auto channels = mean.size();
    std::vector<double> scales(channels), biases(channels);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto k = i % channels;
      const double h = (static_cast<double>(x[i]) - static_cast<double>(mean[k])) *
                       static_cast<double>(inv_std[k]);
      scales[k] += static_cast<double>(dy[i]) * h;
      biases[k] += static_cast<double>(dy[i]);
    }
    const auto count = static_cast<double>(x.size()) / static_cast<double>(channels);
    std::vector<float> a(channels), b(channels), c(channels);
    for (std::size_t k = 0; k < channels; ++k) {
      const auto inverse = static_cast<double>(inv_std[k]);
      const double gain = static_cast<double>(scale[k]) * inverse;
      a[k] = static_cast<float>(gain);
      b[k] = static_cast<float>(-gain * inverse * scales[k] / count);
      c[k] = static_cast<float>(
          gain * (static_cast<double>(mean[k]) * inverse * scales[k] - biases[k]) / count);
    }
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, {scales.begin(), scales.end()});
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, {biases.begin(), biases.end()});
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, a);
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, b);
    write(node, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, c);
  }

  const Graph& graph_;
  const std::map<Uid, void*>& pointers_;
  bool tf32_;
  std::map<Uid, std::vector<float>> values_;
};

} // namespace

void compute(const Graph& graph, const std::map<Uid, void*>& pointers, bool tf32) {
  Interpreter interpreter{graph, pointers, tf32};
  for (const auto& node : graph.nodes)
    interpreter.run(node);
}

} // namespace emulation::cudnn
