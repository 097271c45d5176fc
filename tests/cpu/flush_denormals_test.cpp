// Tests where denormal numbers count as zero: in the passes of the host's kernels, and neither in
// the interpreter nor in optimizers.
#include "core/device/executable.hpp"
#include "cpu/flush_denormals.hpp"
#include "cpu/host_device.hpp"
#include "cpu/parallel.hpp"
#include "nn/builder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

using namespace troupe;

namespace {

constexpr float denormal = 1e-39f, least_normal = std::numeric_limits<float>::min();

/// Multiplies at run time, in the calling thread's floating-point mode.
float product(float a, float b) {
  const volatile float x = a, y = b;
  return x * y;
}

bool is_denormal(float value) {
  return value > 0 && value < least_normal;
}

struct Layer {
  std::int64_t batch, kernel, stride;
};

/// Returns the largest output of a convolution whose images are denormal and whose weights are one.
float largest_output(const Layer& layer, Engine engine, int threads) {
  constexpr std::int64_t channels = 16, size = 8;
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto x = b.input("images", {layer.batch, size, size, channels});
  const auto y = b.conv2d("conv", x, channels, {layer.kernel, layer.stride, layer.kernel / 2});
  const auto outputs = b.shape(y).count();
  const auto graph = std::move(b).finish();
  REQUIRE(graph);
  const auto device = cpu::make_host_device(0, threads);
  const auto stream = device->create_stream({.threads = threads});
  const auto executable = device->compile(*graph, {.engine = engine, .threads = threads});
  REQUIRE(executable);
  std::vector<float> parameters((*executable)->layout().unit_elements.at(0), 1.0f);
  (*executable)->bind(0, parameters.data(), nullptr);
  (*executable)->refresh_all(*stream);
  const std::vector<float> images(static_cast<std::size_t>(layer.batch * size * size * channels),
                                  denormal);
  REQUIRE((*executable)->set_batch(at_addresses((*executable)->batch(), {images.data()})));
  (*executable)->forward(*stream, 0);
  std::vector<float> values(outputs);
  REQUIRE((*executable)->read_tensor(*stream, "conv", values));
  REQUIRE(stream->synchronize());
  return *std::ranges::max_element(values);
}

} // namespace

TEST_CASE("denormal operands of a convolution count as zero, except in the interpreter") {
  // A product, Winograd's convolution and a convolution of the library, by slices; then two on the
  // threads of the library, because the batch does not divide among two threads.
  const auto layer =
      GENERATE(Layer{4, 1, 1}, Layer{4, 3, 1}, Layer{4, 3, 2}, Layer{3, 1, 1}, Layer{3, 3, 2});
  const int threads = GENERATE(1, 2);
  CAPTURE(layer.batch, layer.kernel, layer.stride, threads);
  CHECK(largest_output(layer, Engine::fastest, threads) == 0);
  CHECK(largest_output(layer, Engine::interpreter, threads) > 0);
}

TEST_CASE("an optimizer that follows a pass keeps denormal moments") {
  const auto device = cpu::make_host_device(0, 2);
  const auto stream = device->create_stream({.threads = 2});
  constexpr std::size_t elements = 100'000;
  std::vector<float> parameters(elements, 1), gradients(elements, 1e-20f);
  std::vector<float> first(elements), second(elements);
  cpu::host_stream(*stream).enqueue([] {
    const cpu::FlushDenormals flush{cpu::FlushedThreads::own};
    cpu::parallel_parts(64, [](std::size_t, std::size_t) { product(denormal, 1); });
    return Status{};
  });
  device->optimizer_step(
      *stream, {.kind = OptimizerKind::adamw, .lr = 0.1f, .eps = 1e-30f, .step = 1},
      {parameters.data(), gradients.data(), first.data(), second.data(), elements}, nullptr,
      nullptr);
  REQUIRE(stream->synchronize());
  CHECK(std::ranges::all_of(second, is_denormal));
  CHECK(std::ranges::all_of(parameters, [](float value) { return value < 1; }));
}

TEST_CASE("parts of a team's work run in the mode of the thread that supplies the work") {
  const cpu::ThreadScope threads{2};
  std::atomic<int> kept = 0;
  const auto count_kept = [&] {
    kept = 0;
    cpu::parallel_parts(10'000, [&](std::size_t, std::size_t) {
      if (is_denormal(product(denormal, 1)))
        ++kept;
    });
    return kept.load();
  };
  cpu::together([&] {
    CHECK(count_kept() == 10'000);
    {
      const cpu::FlushDenormals flush{cpu::FlushedThreads::own};
      CHECK(count_kept() == 0);
    }
    CHECK(count_kept() == 10'000);
  });
}

TEST_CASE("the library's threads keep denormals again after a scope that flushes them") {
  const cpu::ThreadScope threads{2};
  const auto count_kept = [] {
    static std::atomic<int> kept;
    kept = 0;
    cpu::on_library_threads([] { kept += is_denormal(product(denormal, 1)) ? 1 : 0; });
    return kept.load();
  };
  CHECK(count_kept() == 2);
  {
    const cpu::FlushDenormals flush{cpu::FlushedThreads::library};
    CHECK(count_kept() == 0);
  }
  CHECK(count_kept() == 2);
}
