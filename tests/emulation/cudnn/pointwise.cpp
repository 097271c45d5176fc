#include "tests/emulation/cudnn/pointwise.hpp"

#include <cmath>

namespace emulation::cudnn {

namespace {

template <class Function>
std::vector<float> each(const PointwiseInputs& in, Function function) {
  std::vector<float> y(in.x.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = function(i);
  return y;
}

} // namespace

int inputs_of(cudnnPointwiseMode_t mode) {
  switch (mode) {
  case CUDNN_POINTWISE_IDENTITY:
  case CUDNN_POINTWISE_RELU_FWD:
  case CUDNN_POINTWISE_EXP:
  case CUDNN_POINTWISE_LOG:
  case CUDNN_POINTWISE_GEN_INDEX:
    return 1;
  case CUDNN_POINTWISE_ADD:
  case CUDNN_POINTWISE_SUB:
  case CUDNN_POINTWISE_MUL:
  case CUDNN_POINTWISE_DIV:
  case CUDNN_POINTWISE_CMP_GE:
  case CUDNN_POINTWISE_RELU_BWD:
    return 2;
  case CUDNN_POINTWISE_BINARY_SELECT:
    return 3;
  default:
    return 0;
  }
}

bool is_comparison(cudnnPointwiseMode_t mode) {
  return mode == CUDNN_POINTWISE_CMP_GE;
}

std::vector<float> pointwise(cudnnPointwiseMode_t mode, const PointwiseInputs& in) {
  const auto &x = in.x, &b = in.b;
  const float first = in.x_factor, second = in.b_factor;
  switch (mode) {
  case CUDNN_POINTWISE_RELU_FWD:
    return each(in, [&](std::size_t i) { return x[i] < 0 ? 0 : x[i]; });
  case CUDNN_POINTWISE_EXP:
    return each(in, [&](std::size_t i) { return std::exp(x[i]); });
  case CUDNN_POINTWISE_LOG:
    return each(in, [&](std::size_t i) { return std::log(x[i]); });
  case CUDNN_POINTWISE_ADD:
    return each(in, [&](std::size_t i) { return first * x[i] + second * b[i]; });
  case CUDNN_POINTWISE_SUB:
    return each(in, [&](std::size_t i) { return first * x[i] - second * b[i]; });
  case CUDNN_POINTWISE_MUL:
    return each(in, [&](std::size_t i) { return first * x[i] * second * b[i]; });
  case CUDNN_POINTWISE_DIV:
    return each(in, [&](std::size_t i) { return first * x[i] / (second * b[i]); });
  case CUDNN_POINTWISE_CMP_GE:
    return each(in, [&](std::size_t i) { return x[i] >= b[i] ? 1.0f : 0.0f; });
  case CUDNN_POINTWISE_RELU_BWD:
    return each(in, [&](std::size_t i) { return x[i] > 0 ? b[i] : 0; });
  case CUDNN_POINTWISE_BINARY_SELECT:
    return each(in, [&](std::size_t i) { return in.t[i] != 0 ? x[i] : b[i]; });
  default:
    return x;
  }
}

Array indices_along(std::int64_t axis, const Dims& dims, const Dims& like) {
  Dims line{1, 1, 1, 1};
  const auto along = static_cast<std::size_t>(axis);
  line[along] = dims[along];
  Array indices{line, row_major(line)};
  for (std::size_t i = 0; i < indices.values.size(); ++i)
    indices.values[i] = static_cast<float>(i);
  return arranged(std::move(indices), dims, like);
}

} // namespace emulation::cudnn
