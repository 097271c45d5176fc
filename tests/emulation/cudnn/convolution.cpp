#include "tests/emulation/cudnn/convolution.hpp"

#include "tests/emulation/cudnn/matrices.hpp"

namespace emulation::cudnn {

namespace {

/// to[j·count + i] += factors[j]·row[i].
[[gnu::target_clones("arch=haswell", "default")]] void add_products(float* to, std::int64_t count,
                                                                    const float* row,
                                                                    const float* factors,
                                                                    std::int64_t factor_count) {
  for (std::int64_t j = 0; j < factor_count; ++j)
    for (std::int64_t i = 0; i < count; ++i)
      to[j * count + i] += factors[j] * row[i];
}

/// Transposes (K, R, S, C) to (R, S, C, K), or back.
std::vector<float> turned(const ConvolutionShape& s, const std::vector<float>& w, bool back) {
  std::vector<float> result(w.size());
  const auto window = s.rows * s.columns * s.in;
  for (std::int64_t k = 0; k < s.out; ++k)
    for (std::int64_t i = 0; i < window; ++i) {
      const auto outer = static_cast<std::size_t>(k * window + i);
      const auto inner = static_cast<std::size_t>(i * s.out + k);
      result[back ? outer : inner] = w[back ? inner : outer];
    }
  return result;
}

/// Calls visit(pixel of x, place in the window, pixel of y) for every product.
template <class Visit>
void for_each_tap(const ConvolutionShape& s, Visit visit) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oh = 0; oh < s.out_height; ++oh)
      for (std::int64_t ow = 0; ow < s.out_width; ++ow)
        for (std::int64_t r = 0; r < s.rows; ++r)
          for (std::int64_t c = 0; c < s.columns; ++c) {
            const auto h = oh * s.stride - s.padding + r, w = ow * s.stride - s.padding + c;
            if (h >= 0 && h < s.height && w >= 0 && w < s.width)
              visit((n * s.height + h) * s.width + w, r * s.columns + c,
                    (n * s.out_height + oh) * s.out_width + ow);
          }
}

} // namespace

std::vector<float> convolve(const ConvolutionShape& s, const std::vector<float>& x,
                            const std::vector<float>& w) {
  const auto filter = turned(s, w, false);
  std::vector<float> y(static_cast<std::size_t>(s.batch * s.out_height * s.out_width * s.out));
  for_each_tap(s, [&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    add_rows(y.data() + to * s.out, s.out, filter.data() + tap * s.in * s.out, s.out,
             x.data() + from * s.in, s.in);
  });
  return y;
}

std::vector<float> convolve_backward_data(const ConvolutionShape& s, const std::vector<float>& dy,
                                          const std::vector<float>& w) {
  std::vector<float> dx(static_cast<std::size_t>(s.batch * s.height * s.width * s.in));
  const auto window = s.rows * s.columns;
  for_each_tap(s, [&](std::int64_t to, std::int64_t tap, std::int64_t from) {
    add_rows(dx.data() + to * s.in, s.in, w.data() + tap * s.in, window * s.in,
             dy.data() + from * s.out, s.out);
  });
  return dx;
}

std::vector<float> convolve_backward_filter(const ConvolutionShape& s, const std::vector<float>& x,
                                            const std::vector<float>& dy) {
  std::vector<float> dw(static_cast<std::size_t>(s.out * s.rows * s.columns * s.in));
  for_each_tap(s, [&](std::int64_t from, std::int64_t tap, std::int64_t to) {
    add_products(dw.data() + tap * s.in * s.out, s.out, dy.data() + to * s.out,
                 x.data() + from * s.in, s.in);
  });
  return turned(s, dw, true);
}

} // namespace emulation::cudnn
