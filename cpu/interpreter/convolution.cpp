#include "cpu/interpreter/ops.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// Sizes of a convolution, for forward and both gradients.
struct Geometry {
  std::size_t batch, in_h, in_w, in_c, out_h, out_w, out_c, kernel, stride, padding;
  std::size_t pixel; ///< channels of x in memory: in_c and those without weights

  Geometry(const Shape& x, const Shape& y, const Conv2dAttributes& a)
      : batch{size(x[0])}, in_h{size(x[1])}, in_w{size(x[2])}, in_c{size(x[3] - a.padded_channels)},
        out_h{size(y[1])}, out_w{size(y[2])}, out_c{size(y[3])}, kernel{size(a.kernel)},
        stride{size(a.stride)}, padding{size(a.padding)}, pixel{size(x[3])} {}

  static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }

  /// Calls visit(pixel of x, pixel of y, position in the kernel) for all combinations.
  template <class Visit>
  void for_each_tap(Visit visit) const {
    for (std::size_t n = 0; n < batch; ++n)
      for (std::size_t oh = 0; oh < out_h; ++oh)
        for (std::size_t ow = 0; ow < out_w; ++ow)
          for (std::size_t kh = 0; kh < kernel; ++kh)
            for (std::size_t kw = 0; kw < kernel; ++kw) {
              // Unsigned: positions left of or above the image wrap to a huge number.
              const auto ih = oh * stride + kh - padding, iw = ow * stride + kw - padding;
              if (ih < in_h && iw < in_w)
                visit((n * in_h + ih) * in_w + iw, (n * out_h + oh) * out_w + ow, kh * kernel + kw);
            }
  }

  std::size_t taps() const { return kernel * kernel; }
};

/// Weights are (O, I, KH, KW). Loops over channels are innermost, so weights are needed as (KH, KW,
/// I, O), or (KH, KW, O, I) if `swapped`.
Values to_taps_first(const Values& weight, const Geometry& g, bool swapped) {
  Values moved(weight.size());
  for (std::size_t o = 0; o < g.out_c; ++o)
    for (std::size_t i = 0; i < g.in_c; ++i)
      for (std::size_t k = 0; k < g.taps(); ++k)
        moved[k * g.in_c * g.out_c + (swapped ? o * g.in_c + i : i * g.out_c + o)] =
            weight[(o * g.in_c + i) * g.taps() + k];
  return moved;
}

/// to[j] += sum over i of from[i] * matrix[i][j]
void add_product(const double* from, std::size_t rows, const double* matrix, double* to,
                 std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      to[j] += from[i] * matrix[i * columns + j];
}

/// Applies bias, residual and relu, before anything is rounded.
void finish(const Operands& operands, Values& y) {
  const auto& a = operands.attributes<Conv2dAttributes>();
  if (!a.bias)
    return;
  const auto bias = operands.read(2);
  const auto residual = a.add ? operands.read(3) : Values{};
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] += bias[i % bias.size()] + (a.add ? residual[i] : 0.0);
    if (a.relu)
      y[i] = std::max(y[i], 0.0);
  }
}

void write_statistics(const Operands& operands, const Values& y) {
  const auto& type = operands.output(0);
  const auto channels = type.shape.size(3);
  Values sum(channels), sum_of_squares(channels);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double stored = round_to(type.dtype, y[i]);
    sum[i % channels] += stored;
    sum_of_squares[i % channels] += stored * stored;
  }
  operands.write(1, sum);
  operands.write(2, sum_of_squares);
}

} // namespace

Status conv2d(const Operands& operands) {
  const Geometry g{operands.input(0).shape, operands.output(0).shape,
                   operands.attributes<Conv2dAttributes>()};
  const auto x = operands.read_convolved(0, 2);
  const auto weight = to_taps_first(operands.read_weight(1, 0), g, false);
  Values y(g.batch * g.out_h * g.out_w * g.out_c);
  g.for_each_tap([&](std::size_t in, std::size_t out, std::size_t k) {
    add_product(&x[in * g.pixel], g.in_c, &weight[k * g.in_c * g.out_c], &y[out * g.out_c],
                g.out_c);
  });
  finish(operands, y);
  operands.write(0, y);
  if (operands.attributes<Conv2dAttributes>().statistics)
    write_statistics(operands, y);
  if (operands.attributes<Conv2dAttributes>().residual != Residual::none)
    operands.write(operands.outputs() - 1, x);
  return {};
}

Status conv2d_backward_data(const Operands& operands) {
  const Geometry g{operands.output(0).shape, operands.input(0).shape,
                   operands.attributes<Conv2dAttributes>()};
  const auto dy = operands.read(0);
  const auto weight = to_taps_first(operands.read_weight(1, 0), g, true);
  Values dx(g.batch * g.in_h * g.in_w * g.in_c);
  g.for_each_tap([&](std::size_t in, std::size_t out, std::size_t k) {
    add_product(&dy[out * g.out_c], g.out_c, &weight[k * g.in_c * g.out_c], &dx[in * g.in_c],
                g.in_c);
  });
  if (operands.attributes<Conv2dAttributes>().batch_norm_relu)
    write_masked_and_reduced(operands, std::move(dx));
  else
    operands.write(0, dx);
  return {};
}

Status conv2d_backward_weight(const Operands& operands) {
  const Geometry g{operands.input(1).shape, operands.input(0).shape,
                   operands.attributes<Conv2dAttributes>()};
  const auto dy = operands.read(0), x = operands.read_convolved(1, 2);
  Values sums(g.taps() * g.in_c * g.out_c); // (KH, KW, I, O)
  g.for_each_tap([&](std::size_t in, std::size_t out, std::size_t k) {
    for (std::size_t i = 0; i < g.in_c; ++i)
      for (std::size_t o = 0; o < g.out_c; ++o)
        sums[(k * g.in_c + i) * g.out_c + o] += x[in * g.pixel + i] * dy[out * g.out_c + o];
  });
  Values dweight(sums.size());
  for (std::size_t o = 0; o < g.out_c; ++o)
    for (std::size_t i = 0; i < g.in_c; ++i)
      for (std::size_t k = 0; k < g.taps(); ++k)
        dweight[(o * g.in_c + i) * g.taps() + k] = sums[(k * g.in_c + i) * g.out_c + o];
  operands.write(0, dweight);
  return {};
}

} // namespace troupe::cpu
