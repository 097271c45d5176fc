// Tests convolutions in f32 by panels: the kernels of every instruction set against sums in
// double, and whole networks against the interpreter.
#include "cpu/kernels/kernels.hpp"
#include "nn/builder.hpp"
#include "tests/cpu/host_pass.hpp"
#include "tests/cpu/uniform_values.hpp"
#include "tests/devices/networks.hpp"
#include "tests/devices/op_cases.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;
using namespace troupe::testing;
using cpu::test::uniform_values;

namespace {

using Panels = cpu::PanelKernels;

/// Largest error of sums of up to 2,000 products of values in [-1, 1]; typical ones are under 1e-5.
constexpr double panel_tolerance = 1e-4;

/// Rows at every second place, from the last to the first.
struct ScatteredRows {
  std::size_t count, width;
  std::vector<float> values = uniform_values(1, 2 * count * width);

  const float* row(std::size_t i) const { return values.data() + 2 * (count - 1 - i) * width; }
  std::vector<const float*> addresses() const {
    std::vector<const float*> rows(count);
    for (std::size_t i = 0; i < count; ++i)
      rows[i] = row(i);
    return rows;
  }
};

struct ProductCase {
  std::size_t rows, depth, columns;
};

// One row; rows that are no multiple of a tile; one, two, three and more panels; depths that are no
// multiple of a vector, and that are divided into blocks.
const std::vector<ProductCase> products{{1, 1, 16},    {5, 3, 16},    {6, 16, 16},   {7, 33, 32},
                                        {13, 64, 48},  {192, 20, 64}, {50, 130, 96}, {11, 300, 144},
                                        {3, 600, 128}, {196, 257, 80}};

struct GradientCase {
  std::size_t pixels, in, out, first_input, inputs, first_output, outputs;
};

// Whole gradients and blocks of them; outputs that are no multiple of a tile, near each other and
// far apart; the largest sizes.
const std::vector<GradientCase> gradients{
    {1, 16, 1, 0, 16, 0, 1},      {7, 16, 3, 0, 16, 0, 3},
    {100, 64, 16, 0, 64, 0, 16},  {33, 48, 40, 16, 32, 16, 24},
    {256, 96, 77, 0, 96, 32, 45}, {255, 272, 300, 16, 256, 32, 256},
    {64, 32, 70, 16, 16, 64, 6},  {256, 512, 256, 256, 256, 0, 256}};

/// A network of 1x1 convolutions without batch norm, whose sums depend on the number of threads.
Graph plain_network(const Shape& images, std::int64_t stride) {
  return make_model(images,
                    [stride](nn::GraphBuilder& b, TensorId x) {
                      x = b.relu("relu1", b.conv2d("conv1", x, 48, {1, 1, 0}));
                      x = b.relu("relu2", b.conv2d("conv2", x, 80, {1, stride, 0}));
                      x = b.conv2d("conv3", x, 32, {1, 1, 0});
                      return b.flatten("flat", b.global_avg_pool("pool", x));
                    })
      .graph;
}

/// A network of larger kernels, with the least channels that panels suit and, in the third
/// convolution, more than Winograd's kernels have.
Graph network_of_taps(const Shape& images, std::int64_t stride) {
  return make_model(images,
                    [stride](nn::GraphBuilder& b, TensorId x) {
                      x = b.relu("relu1", b.conv2d("conv1", x, 64, {1, 1, 0}));
                      x = b.relu("relu2", b.conv2d("conv2", x, 80, {3, stride, 1}));
                      x = b.relu("relu3", b.conv2d("conv3", x, 832, {3, 1, 1}));
                      x = b.conv2d("conv4", x, 64, {5, stride, 2});
                      return b.flatten("flat", b.global_avg_pool("pool", x));
                    })
      .graph;
}

} // namespace

TEST_CASE("products of several taps are added up") {
  for (const auto& kernels : cpu::usable_kernels())
    for (const std::size_t depth : {5, 100, 300}) {
      constexpr std::size_t taps = 3, rows = 13, columns = 48;
      CAPTURE(kernels.name, depth);
      const ScatteredRows left{taps * rows, depth};
      const auto addresses = left.addresses();
      const auto right = uniform_values(2, taps * depth * columns);
      std::vector<float> panels(taps * depth * columns, NAN);
      for (std::size_t tap = 0; tap < taps; ++tap)
        kernels.panels.pack({right.data() + tap * depth * columns, columns, false}, depth, columns,
                            panels.data() + tap * depth * Panels::panel, taps * depth);
      std::vector<float> result(rows * columns, NAN);
      kernels.panels.multiply({.left = {addresses.data(), rows},
                               .taps = taps,
                               .depth = depth,
                               .columns = columns,
                               .panels = panels.data(),
                               .result = result.data(),
                               .result_distance = columns});
      double largest = 0;
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) {
          double sum = 0;
          for (std::size_t k = 0; k < taps * depth; ++k)
            sum +=
                double{left.row(k / depth * rows + r)[k % depth]} * double{right[k * columns + c]};
          largest = std::max(largest, std::abs(sum - double{result[r * columns + c]}));
        }
      CHECK(largest < panel_tolerance);
    }
}

TEST_CASE("products of rows with packed matrices and transposes equal sums of products") {
  const bool transposed = GENERATE(false, true);
  constexpr std::size_t gap = 5; ///< between rows of the result
  for (const auto& kernels : cpu::usable_kernels())
    for (const auto& p : products) {
      CAPTURE(kernels.name, p.rows, p.depth, p.columns, transposed);
      const ScatteredRows left{p.rows, p.depth};
      const auto rows = left.addresses();
      const auto right = uniform_values(2, p.depth * p.columns);
      const cpu::RightMatrix matrix{right.data(), transposed ? p.depth : p.columns, transposed};
      std::vector<float> panels(p.depth * p.columns, NAN);
      kernels.panels.pack(matrix, p.depth, p.columns, panels.data(), p.depth);
      std::vector<float> result(p.rows * (p.columns + gap), NAN);
      kernels.panels.multiply({.left = {rows.data(), p.rows},
                               .depth = p.depth,
                               .columns = p.columns,
                               .panels = panels.data(),
                               .result = result.data(),
                               .result_distance = p.columns + gap});
      double largest = 0;
      for (std::size_t r = 0; r < p.rows; ++r)
        for (std::size_t c = 0; c < p.columns; ++c) {
          double sum = 0;
          for (std::size_t k = 0; k < p.depth; ++k)
            sum += double{left.row(r)[k]} *
                   double{right[transposed ? c * p.depth + k : k * p.columns + c]};
          largest = std::max(largest, std::abs(sum - double{result[r * (p.columns + gap) + c]}));
        }
      CHECK(largest < panel_tolerance);
      CHECK(std::ranges::count_if(result, [](float f) { return std::isnan(f); }) ==
            static_cast<std::ptrdiff_t>(p.rows * gap));
    }
}

TEST_CASE("blocks of a gradient by panels equal sums over pixels, written and then added to") {
  for (const auto& kernels : cpu::usable_kernels())
    for (const auto& g : gradients) {
      CAPTURE(kernels.name, g.pixels, g.in, g.out, g.first_input, g.first_output);
      const ScatteredRows x{g.pixels, g.in};
      const auto rows = x.addresses();
      const auto dy = uniform_values(3, g.pixels * g.out);
      std::vector<float> sums(g.out * g.in, NAN), scratch(Panels::gradient_scratch_floats, NAN);
      for (const bool add : {false, true})
        kernels.panels.gradient({.x = {rows.data(), g.pixels},
                                 .dy = dy.data(),
                                 .dy_distance = g.out,
                                 .first_input = g.first_input,
                                 .inputs = g.inputs,
                                 .first_output = g.first_output,
                                 .outputs = g.outputs,
                                 .sums = sums.data() + g.first_output * g.in + g.first_input,
                                 .sums_distance = g.in,
                                 .add = add},
                                scratch.data());
      double largest = 0;
      std::size_t written = 0;
      for (std::size_t o = 0; o < g.outputs; ++o)
        for (std::size_t i = 0; i < g.inputs; ++i) {
          double sum = 0;
          for (std::size_t p = 0; p < g.pixels; ++p)
            sum += double{dy[p * g.out + g.first_output + o]} * double{x.row(p)[g.first_input + i]};
          const float got = sums[(g.first_output + o) * g.in + g.first_input + i];
          largest = std::max(largest, std::abs(2 * sum - double{got}));
          ++written;
        }
      CHECK(largest < panel_tolerance);
      CHECK(std::ranges::count_if(sums, [](float f) { return std::isnan(f); }) ==
            static_cast<std::ptrdiff_t>(sums.size() - written));
    }
}

TEST_CASE("1x1 convolutions with and without a stride match the interpreter") {
  const int threads = GENERATE(1, 2, 3);
  const std::int64_t stride = GENERATE(1, 2, 3);
  // Images of less than a slice, and of several; numbers that threads do not divide; few pixels.
  const auto images = GENERATE(Shape{6, 5, 5, 17}, Shape{4, 20, 28, 3}, Shape{5, 15, 16, 64});
  CAPTURE(threads, stride, images.to_string());
  const auto device = cpu::make_host_device(0, threads);
  const auto graph = plain_network(images, stride);
  require_same_pass(run_graph(*device, graph, {.threads = threads}), run_reference(graph),
                    Precision::fp32);
}

TEST_CASE("3x3 and 5x5 convolutions by panels match the interpreter") {
  const int threads = GENERATE(1, 2, 3);
  const std::int64_t stride = GENERATE(1, 2, 3);
  // Sizes that the strides divide, and others; one pixel.
  const auto images = GENERATE(Shape{2, 12, 18, 3}, Shape{3, 7, 5, 3}, Shape{2, 1, 1, 3});
  CAPTURE(threads, stride, images.to_string());
  const auto device = cpu::make_host_device(0, threads);
  const auto graph = network_of_taps(images, stride);
  require_same_pass(run_graph(*device, graph, {.threads = threads}), run_reference(graph),
                    Precision::fp32);
}

TEST_CASE(
    "a network of 1x1 convolutions with batch norm, relu and shortcuts matches the interpreter") {
  const int threads = GENERATE(1, 2, 3);
  const auto width = GENERATE(8, 16);
  // Images of many slices at first, and of less than one in the last blocks.
  const auto graph = bottleneck_network({6, 64, 64, 3}, width);
  const auto device = cpu::make_host_device(0, threads);
  require_same_pass(run_graph(*device, graph, {.threads = threads}), run_reference(graph),
                    Precision::fp32, Depth::deep);
}

TEST_CASE("gradients of 1x1 convolutions do not depend on the number of threads") {
  const std::int64_t stride = GENERATE(1, 2);
  const auto graph = plain_network({6, 20, 28, 32}, stride);
  const auto device = cpu::make_host_device(0, 7);
  const auto one = run_graph(*device, graph, {.threads = 1});
  for (const int threads : {2, 3, 4, 7}) {
    const auto several = run_graph(*device, graph, {.threads = threads});
    CHECK(several.raw_gradients == one.raw_gradients);
    CHECK(several.activations == one.activations);
  }
}
