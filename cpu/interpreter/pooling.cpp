#include "cpu/interpreter/ops.hpp"

#include <cmath>
#include <limits>

namespace troupe::cpu {

namespace {

std::size_t pixel_index(const Shape& s, std::int64_t n, std::int64_t h, std::int64_t w,
                        std::int64_t c) {
  return static_cast<std::size_t>(((n * s[1] + h) * s[2] + w) * s[3] + c);
}

/// A pixel of a window that lies inside the image.
struct Tap {
  std::size_t in;  ///< index of x
  std::int64_t at; ///< position in the window
};

/// Calls visit(index of y, taps) for the windows of a pooling; `x` is the big image, `y` the small
/// one.
template <class Visit>
void for_each_window(const Shape& x, const Shape& y, const PoolAttributes& a, Visit visit) {
  std::vector<Tap> taps;
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t oh = 0; oh < y[1]; ++oh)
      for (std::int64_t ow = 0; ow < y[2]; ++ow)
        for (std::int64_t c = 0; c < y[3]; ++c) {
          taps.clear();
          for (std::int64_t kh = 0; kh < a.kernel_h; ++kh)
            for (std::int64_t kw = 0; kw < a.kernel_w; ++kw) {
              const auto ih = oh * a.stride - a.padding + kh;
              const auto iw = ow * a.stride - a.padding + kw;
              if (ih >= 0 && ih < x[1] && iw >= 0 && iw < x[2])
                taps.push_back({pixel_index(x, n, ih, iw, c), kh * a.kernel_w + kw});
            }
          visit(pixel_index(y, n, oh, ow, c), taps);
        }
}

} // namespace

// Like PyTorch: the first of equal values wins, and a NaN propagates.
Status max_pool(const Operands& operands) {
  const auto& a = operands.attributes<PoolAttributes>();
  const auto x = a.prologue ? operands.read_normalized(0, 1) : operands.read(0);
  Values y(operands.output(0).shape.count()), position(y.size());
  for_each_window(operands.input(0).shape, operands.output(0).shape, a,
                  [&](std::size_t out, const std::vector<Tap>& taps) {
                    y[out] = -std::numeric_limits<double>::infinity();
                    position[out] = -1;
                    for (const auto& [in, at] : taps)
                      if (position[out] < 0 || x[in] > y[out] || std::isnan(x[in])) {
                        y[out] = x[in];
                        position[out] = static_cast<double>(at);
                      }
                  });
  operands.write(0, y);
  operands.write(1, position);
  return {};
}

Values max_pool_gradient(const Tensor& x, const Tensor& y, const PoolAttributes& attributes,
                         const Values& dy, const Values& position) {
  Values dx(x.shape.count());
  for_each_window(x.shape, y.shape, attributes, [&](std::size_t out, const std::vector<Tap>& taps) {
    for (const auto& [in, at] : taps)
      if (position[out] == static_cast<double>(at))
        dx[in] += dy[out];
  });
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
  Values y(operands.output(0).shape.count());
  for_each_window(operands.input(0).shape, operands.output(0).shape,
                  operands.attributes<PoolAttributes>(),
                  [&](std::size_t out, const std::vector<Tap>& taps) {
                    double sum = 0;
                    for (const auto& tap : taps)
                      sum += x[tap.in];
                    y[out] = sum / static_cast<double>(taps.size());
                  });
  operands.write(0, y);
  return {};
}

Status avg_pool_backward(const Operands& operands) {
  const auto dy = operands.read(0);
  Values dx(operands.output(0).shape.count());
  for_each_window(operands.output(0).shape, operands.input(0).shape,
                  operands.attributes<PoolAttributes>(),
                  [&](std::size_t out, const std::vector<Tap>& taps) {
                    for (const auto& tap : taps)
                      dx[tap.in] += dy[out] / static_cast<double>(taps.size());
                  });
  operands.write(0, dx);
  return {};
}

} // namespace troupe::cpu
