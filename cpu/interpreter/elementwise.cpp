#include "core/device/dropout_math.hpp"
#include "cpu/interpreter/detail/gelu.hpp"
#include "cpu/interpreter/ops.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace troupe::cpu {

namespace {

/// Calls visit(index in x, index in y) for each element that a subsampling takes.
template <class Visit>
void for_each_sample(const Shape& x, const Shape& y, const SubsamplePadAttributes& a, Visit visit) {
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t h = 0; h < y[1]; ++h)
      for (std::int64_t w = 0; w < y[2]; ++w)
        for (std::int64_t c = 0; c < x[3]; ++c)
          visit(static_cast<std::size_t>(((n * x[1] + h * a.stride) * x[2] + w * a.stride) * x[3] +
                                         c),
                static_cast<std::size_t>(((n * y[1] + h) * y[2] + w) * y[3] + a.pad_before + c));
}

/// Writes to output 0 the function of each element of input 0.
template <class Function>
Status write_each(const Operands& operands, Function function) {
  auto y = operands.read(0);
  std::ranges::transform(y, y.begin(), function);
  operands.write(0, y);
  return {};
}

/// Writes to output 0 the function of each element of input 0 and the same element of input 1.
template <class Function>
Status write_each_of_two(const Operands& operands, Function function) {
  auto y = operands.read(0);
  std::ranges::transform(y, operands.read(1), y.begin(), function);
  operands.write(0, y);
  return {};
}

Gelu gelu_of(const Operands& operands, double x) {
  return operands.attributes<GeluAttributes>().tanh ? tanh_gelu(x) : exact_gelu(x);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

} // namespace

Status relu(const Operands& operands) {
  return write_each(operands, [](double x) { return x < 0 ? 0 : x; }); // a NaN stays
}

Status relu_backward(const Operands& operands) {
  return write_each_of_two(operands, [](double dy, double y) { return y > 0 ? dy : 0; });
}

Status gelu(const Operands& operands) {
  return write_each(operands, [&](double x) { return gelu_of(operands, x).value; });
}

Status gelu_backward(const Operands& operands) {
  return write_each_of_two(operands,
                           [&](double dy, double x) { return dy * gelu_of(operands, x).slope; });
}

Status swiglu(const Operands& operands) {
  return write_each_of_two(operands,
                           [](double gate, double up) { return gate * (sigmoid(gate) * up); });
}

Status swiglu_backward(const Operands& operands) {
  const auto dy = operands.read(0), gate = operands.read(1), up = operands.read(2);
  Values dgate(dy.size()), dup(dy.size());
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const double p = sigmoid(gate[i]);
    dgate[i] = dy[i] * up[i] * p * (1 + gate[i] * (1 - p));
    dup[i] = dy[i] * gate[i] * p;
  }
  operands.write(0, dgate);
  operands.write(1, dup);
  return {};
}

Status add(const Operands& operands) {
  return write_each_of_two(operands, std::plus{});
}

Status dropout(const Operands& operands) {
  const auto rule = dropout_rule(operands.attributes<DropoutAttributes>());
  auto y = operands.read(0);
  const auto words = operands.read(1);
  const std::vector<std::int32_t> keys(words.begin(), words.end());
  const auto elements = y.size() / operands.input(1).shape.size(0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto key = dropout_key(keys.data(), i / elements);
    y[i] = dropout_word(rule, key, i % elements) < rule.bound ? 0 : y[i] * double{rule.scale};
  }
  operands.write(0, y);
  return {};
}

// Writes the same elements in another type or shape.
Status cast(const Operands& operands) {
  operands.write(0, operands.read(0));
  return {};
}

Status flatten(const Operands& operands) {
  return cast(operands);
}

Status unflatten(const Operands& operands) {
  return cast(operands);
}

Status share(const Operands& operands) {
  return cast(operands);
}

Status subsample_pad(const Operands& operands) {
  const auto x = operands.read(0);
  Values y(operands.output(0).shape.count());
  for_each_sample(operands.input(0).shape, operands.output(0).shape,
                  operands.attributes<SubsamplePadAttributes>(),
                  [&](std::size_t from, std::size_t to) { y[to] = x[from]; });
  operands.write(0, y);
  return {};
}

Status subsample_pad_backward(const Operands& operands) {
  const auto dy = operands.read(0);
  Values dx(operands.output(0).shape.count());
  for_each_sample(operands.output(0).shape, operands.input(0).shape,
                  operands.attributes<SubsamplePadAttributes>(),
                  [&](std::size_t to, std::size_t from) { dx[to] = dy[from]; });
  operands.write(0, dx);
  return {};
}

} // namespace troupe::cpu
