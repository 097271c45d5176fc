#include "cpu/interpreter/ops.hpp"

namespace troupe::cpu {

// y[n][o] = sum over i of x[n][i] * weight[o][i], plus bias[o]
Status matmul(const Operands& operands) {
  const auto x = operands.read(0), weight = operands.read_weight(1, 0);
  const auto shift = operands.inputs() == 3 ? operands.read(2) : Values{};
  const auto rows = operands.input(0).shape.size(0), in = operands.input(0).shape.size(1),
             out = operands.input(1).shape.size(0);
  Values y(rows * out);
  for (std::size_t n = 0; n < rows; ++n)
    for (std::size_t o = 0; o < out; ++o) {
      double sum = shift.empty() ? 0 : shift[o];
      for (std::size_t i = 0; i < in; ++i)
        sum += x[n * in + i] * weight[o * in + i];
      y[n * out + o] = sum;
    }
  operands.write(0, y);
  return {};
}

Status matmul_backward_data(const Operands& operands) {
  const auto dy = operands.read(0), weight = operands.read_weight(1, 0);
  const auto rows = operands.input(0).shape.size(0), out = operands.input(0).shape.size(1),
             in = operands.input(1).shape.size(1);
  Values dx(rows * in);
  for (std::size_t n = 0; n < rows; ++n)
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < in; ++i)
        dx[n * in + i] += dy[n * out + o] * weight[o * in + i];
  operands.write(0, dx);
  return {};
}

Status matmul_backward_weight(const Operands& operands) {
  const auto dy = operands.read(0), x = operands.read(1);
  const auto rows = operands.input(0).shape.size(0), out = operands.input(0).shape.size(1),
             in = operands.input(1).shape.size(1);
  Values dweight(out * in);
  for (std::size_t n = 0; n < rows; ++n)
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < in; ++i)
        dweight[o * in + i] += dy[n * out + o] * x[n * in + i];
  operands.write(0, dweight);
  return {};
}

Status bias(const Operands& operands) {
  auto y = operands.read(0);
  const auto shift = operands.read(1);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] += shift[i % shift.size()];
  operands.write(0, y);
  return {};
}

Status bias_backward(const Operands& operands) {
  const auto dy = operands.read(0);
  Values dbias(operands.input(0).shape.size(1));
  for (std::size_t i = 0; i < dy.size(); ++i)
    dbias[i % dbias.size()] += dy[i];
  operands.write(0, dbias);
  return {};
}

} // namespace troupe::cpu
