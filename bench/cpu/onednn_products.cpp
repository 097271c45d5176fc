#include "bench/cpu/onednn_products.hpp"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <unordered_map>
#include <vector>

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

dnnl::memory::dims dims_of(const Product& p, std::int64_t height, std::int64_t width) {
  return p.count == 1 ? dnnl::memory::dims{height, width}
                      : dnnl::memory::dims{p.count, height, width};
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const Product& p, Type type,
                                      Tag tag) {
  const dnnl::memory::desc a{dims_of(p, p.rows, p.inner), type, tag};
  const dnnl::memory::desc b{dims_of(p, p.inner, p.columns), type, tag};
  const dnnl::memory::desc c{dims_of(p, p.rows, p.columns), type, tag};
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c};
#else
  return {{a, b, c}, engine};
#endif
}

/// Returns memory filled with ones, or nearly ones, in both types. Untouched memory would be a
/// single page of zeros, whatever its size.
dnnl::memory ones(const dnnl::memory::desc& description, const dnnl::engine& engine) {
  constexpr std::uint16_t one = 0x3F80;
  dnnl::memory memory{description, engine};
  std::fill_n(static_cast<std::uint16_t*>(memory.get_data_handle()),
              description.get_size() / sizeof one, one);
  return memory;
}

double seconds_in_layout(const Product& product, Type type, Tag tag, double seconds) {
  constexpr std::size_t fewest = 3;
  const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  const auto description = describe(engine, product, type, tag);
  const dnnl::matmul primitive{description};
  const std::unordered_map<int, dnnl::memory> operands = {
      {DNNL_ARG_SRC, ones(description.src_desc(), engine)},
      {DNNL_ARG_WEIGHTS, ones(description.weights_desc(), engine)},
      {DNNL_ARG_DST, ones(description.dst_desc(), engine)}};
  const auto run = [&] {
    const auto start = Clock::now();
    primitive.execute(stream, operands);
    stream.wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  run();
  std::vector<double> times;
  for (double sum = 0; sum < seconds || times.size() < fewest; sum += times.back())
    times.push_back(run());
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

} // namespace

std::optional<Product> parse_product(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::istringstream stream{text};
  for (std::string size; std::getline(stream, size, 'x');)
    sizes.push_back(std::atoll(size.c_str()));
  if (sizes.size() == 3)
    sizes.insert(sizes.begin(), 1);
  if (sizes.size() != 4 || std::ranges::min(sizes) < 1)
    return std::nullopt;
  return Product{sizes[0], sizes[1], sizes[2], sizes[3]};
}

double seconds_of_product(const Product& product, bool bf16, double seconds) {
  const auto type = bf16 ? Type::bf16 : Type::f32;
  const auto plain = product.count == 1 ? Tag::ab : Tag::abc;
  return std::min(seconds_in_layout(product, type, Tag::any, seconds),
                  seconds_in_layout(product, type, plain, seconds));
}

std::string onednn_version() {
  const auto* const version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

} // namespace troupe::bench
