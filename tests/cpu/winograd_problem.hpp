/// A 3x3 convolution, and the sums of products that define it.
#pragma once

#include "cpu/kernels/kernels.hpp"

#include <vector>

namespace troupe::cpu::test {

struct WinogradProblem {
  std::size_t images;
  WinogradShape shape;

  std::size_t pixels() const { return images * shape.height * shape.width; }
  std::size_t weights() const { return 9 * shape.in * shape.out; }
};

/// Calls fn(output pixel, input pixel, weight index) for every product.
template <class Fn>
void for_products(const WinogradProblem& p, Fn&& fn) {
  const auto& s = p.shape;
  for (std::size_t image = 0; image < p.images; ++image)
    for (std::size_t row = 0; row < s.height; ++row)
      for (std::size_t column = 0; column < s.width; ++column)
        for (std::size_t i = 0; i < 3; ++i)
          for (std::size_t j = 0; j < 3; ++j)
            if (row + i >= 1 && row + i <= s.height && column + j >= 1 && column + j <= s.width)
              fn((image * s.height + row) * s.width + column,
                 (image * s.height + row + i - 1) * s.width + column + j - 1, i * 3 + j);
}

/// Convolves in f64. Weights have the shape (3, 3, in, out); `turned` reverses the order of the 9
/// taps.
inline std::vector<double> convolve(const WinogradProblem& p, const std::vector<float>& x,
                                    const std::vector<float>& weights, bool turned) {
  const auto& s = p.shape;
  std::vector<double> y(p.pixels() * s.out);
  for_products(p, [&](std::size_t to, std::size_t from, std::size_t at) {
    const std::size_t place = turned ? 8 - at : at;
    for (std::size_t in = 0; in < s.in; ++in)
      for (std::size_t out = 0; out < s.out; ++out)
        y[to * s.out + out] +=
            double{x[from * s.in + in]} * double{weights[(place * s.in + in) * s.out + out]};
  });
  return y;
}

} // namespace troupe::cpu::test
