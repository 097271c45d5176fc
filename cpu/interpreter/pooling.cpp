#include "cpu/interpreter/ops.hpp"

#include <cmath>
#include <limits>

namespace troupe::cpu {

namespace {

std::size_t pixel_index(const Shape& s, std::int64_t n, std::int64_t h, std::int64_t w,
                        std::int64_t c) {
  return static_cast<std::size_t>(((n * s[1] + h) * s[2] + w) * s[3] + c);
}

/// Visits the windows of a pooling; `x` is the big image, `y` the small one. For each window, calls
/// begin(index of y), then tap(index of x, position in the window) for every pixel of the window
/// inside the image, then end(index of y).
template <class Begin, class Tap, class End>
void for_each_window(const Shape& x, const Shape& y, const PoolAttributes& a, Begin begin, Tap tap,
                     End end) {
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t oh = 0; oh < y[1]; ++oh)
      for (std::int64_t ow = 0; ow < y[2]; ++ow)
        for (std::int64_t c = 0; c < y[3]; ++c) {
          const auto out = pixel_index(y, n, oh, ow, c);
          begin(out);
          for (std::int64_t kh = 0; kh < a.kernel_h; ++kh)
            for (std::int64_t kw = 0; kw < a.kernel_w; ++kw) {
              const auto ih = oh * a.stride - a.padding + kh;
              const auto iw = ow * a.stride - a.padding + kw;
              if (ih >= 0 && ih < x[1] && iw >= 0 && iw < x[2])
                tap(pixel_index(x, n, ih, iw, c), kh * a.kernel_w + kw);
            }
          end(out);
        }
}

std::size_t size(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements());
}

} // namespace

// Like PyTorch: the first of equal values wins, and a NaN propagates.
Status max_pool(const Operands& operands) {
  const auto& a = operands.attributes<PoolAttributes>();
  const auto x = a.prologue ? operands.read_normalized(0, 1) : operands.read(0);
  Values y(size(operands.output(0))), position(y.size());
  double most = 0, where = 0;
  for_each_window(
      operands.input(0).shape, operands.output(0).shape, a,
      [&](std::size_t) {
        most = -std::numeric_limits<double>::infinity();
        where = -1;
      },
      [&](std::size_t in, std::int64_t at) {
        if (where < 0 || x[in] > most || std::isnan(x[in])) {
          most = x[in];
          where = static_cast<double>(at);
        }
      },
      [&](std::size_t out) {
        y[out] = most;
        position[out] = where;
      });
  operands.write(0, y);
  operands.write(1, position);
  return {};
}

Values max_pool_gradient(const Tensor& x, const Tensor& y, const PoolAttributes& attributes,
                         const Values& dy, const Values& position) {
  Values dx(size(x));
  std::size_t out = 0;
  for_each_window(
      x.shape, y.shape, attributes, [&](std::size_t at) { out = at; },
      [&](std::size_t in, std::int64_t at) {
        if (position[out] == static_cast<double>(at))
          dx[in] += dy[out];
      },
      [](std::size_t) {});
  return dx;
}

Status max_pool_backward(const Operands& operands) {
  operands.write(0, max_pool_gradient(operands.output(0), operands.input(0),
                                      operands.attributes<PoolAttributes>(), operands.read(0),
                                      operands.read(1)));
  return {};
}

Status avg_pool(const Operands& operands) {
  const auto x = operands.read(0);
  Values y(size(operands.output(0)));
  double sum = 0, count = 0;
  for_each_window(
      operands.input(0).shape, operands.output(0).shape, operands.attributes<PoolAttributes>(),
      [&](std::size_t) { sum = count = 0; },
      [&](std::size_t in, std::int64_t) {
        sum += x[in];
        ++count;
      },
      [&](std::size_t out) { y[out] = sum / count; });
  operands.write(0, y);
  return {};
}

Status avg_pool_backward(const Operands& operands) {
  const auto dy = operands.read(0);
  Values dx(size(operands.output(0)));
  std::vector<std::size_t> inside;
  for_each_window(
      operands.output(0).shape, operands.input(0).shape, operands.attributes<PoolAttributes>(),
      [&](std::size_t) { inside.clear(); },
      [&](std::size_t in, std::int64_t) { inside.push_back(in); },
      [&](std::size_t out) {
        for (const auto in : inside)
          dx[in] += dy[out] / static_cast<double>(inside.size());
      });
  operands.write(0, dx);
  return {};
}

} // namespace troupe::cpu
