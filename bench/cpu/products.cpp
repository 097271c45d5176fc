// Matrix products of oneDNN with nothing else in their way. Each operand has the library's
// preferred layout or row-major layout, whichever is faster; converting to it is not counted. These
// times bound a training step from below (bench/compare_language).
#include "cpu/onednn/detail/instruction_set.hpp"
#include "cpu/parallel.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

struct Options {
  std::vector<std::string> products;
  std::string precision = "fp32";
  int threads = 2;
  double seconds = 1;
};

/// `count` products of (rows, inner) and (inner, columns) at once.
struct Product {
  std::int64_t count = 1, rows = 0, inner = 0, columns = 0;

  double operations() const {
    return 2.0 * static_cast<double>(count * rows) * static_cast<double>(inner * columns);
  }
  bool is_one() const { return count == 1; }
  dnnl::memory::dims dims(std::int64_t height, std::int64_t width) const {
    return is_one() ? dnnl::memory::dims{height, width} : dnnl::memory::dims{count, height, width};
  }
};

/// Parses [COUNTx]ROWSxINNERxCOLUMNS; returns nothing for any other text.
std::optional<Product> parse(const std::string& text) {
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

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const Product& p, Type type,
                                      Tag tag) {
  const dnnl::memory::desc a{p.dims(p.rows, p.inner), type, tag};
  const dnnl::memory::desc b{p.dims(p.inner, p.columns), type, tag};
  const dnnl::memory::desc c{p.dims(p.rows, p.columns), type, tag};
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

/// Returns the median time of one run, in seconds.
double seconds_of(const Product& product, Type type, Tag tag, double seconds) {
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

double best_seconds(const Product& product, const Options& options) {
  const auto type = options.precision == "bf16" ? Type::bf16 : Type::f32;
  const auto plain = product.is_one() ? Tag::ab : Tag::abc;
  return std::min(seconds_of(product, type, Tag::any, options.seconds),
                  seconds_of(product, type, plain, options.seconds));
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times matrix products of oneDNN; prints one JSON object"};
  app.add_option("products", options.products, "[COUNTx]ROWSxINNERxCOLUMNS")
      ->required()
      ->check([](const std::string& text) {
        return parse(text) ? "" : text + " is not of the form [COUNTx]ROWSxINNERxCOLUMNS";
      });
  app.add_option("--precision", options.precision)->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--threads", options.threads);
  app.add_option("--seconds", options.seconds, "time to spend on each product and layout");
  CLI11_PARSE(app, argc, argv);

  troupe::cpu::limit_library();
  const troupe::cpu::ThreadScope scope{options.threads};
  std::string milliseconds, speeds;
  for (const auto& text : options.products) {
    const auto product = *parse(text);
    const double seconds = best_seconds(product, options);
    const char* const comma = milliseconds.empty() ? "" : ",";
    milliseconds += fmt::format("{}\"{}\":{:.4f}", comma, text, 1e3 * seconds);
    speeds += fmt::format("{}\"{}\":{:.1f}", comma, text, 1e-9 * product.operations() / seconds);
  }
  const auto* const version = dnnl_version();
  fmt::print("{{\"precision\":\"{}\",\"threads\":{},\"onednn\":\"{}.{}.{}\",\"ms\":{{{}}},"
             "\"gflops\":{{{}}}}}\n",
             options.precision, options.threads, version->major, version->minor, version->patch,
             milliseconds, speeds);
}
