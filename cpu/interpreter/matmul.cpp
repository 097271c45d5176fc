#include "cpu/interpreter/detail/gelu.hpp"
#include "cpu/interpreter/ops.hpp"

namespace troupe::cpu {

namespace {

Values sum_rows(const Values& rows, std::size_t columns) {
  Values sums(columns);
  for (std::size_t i = 0; i < rows.size(); ++i)
    sums[i % columns] += rows[i];
  return sums;
}

bool has_gelu(const Operands& operands) {
  const auto* const attributes = operands.attributes_or_null<MatmulAttributes>();
  return attributes && attributes->gelu;
}

/// Writes the product as gelu's input, and gelu of it as stored.
void write_with_gelu(const Operands& operands, Values y) {
  operands.write(1, y);
  for (auto& value : y)
    value = tanh_gelu(round_to(operands.output(1).dtype, value)).value;
  operands.write(0, y);
}

} // namespace

// y[n][o] = sum over i of x[n][i] * weight[o][i], plus bias[o]; with gelu, gelu of that
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
  if (has_gelu(operands))
    write_with_gelu(operands, std::move(y));
  else
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
  const auto gelu_input = has_gelu(operands) ? operands.read(2) : Values{};
  for (std::size_t i = 0; i < gelu_input.size(); ++i)
    dx[i] *= tanh_gelu(gelu_input[i]).slope;
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
  if (operands.outputs() == 2)
    operands.write(1, sum_rows(dy, out));
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
  operands.write(0, sum_rows(operands.read(0), operands.input(0).shape.size(1)));
  return {};
}

} // namespace troupe::cpu
