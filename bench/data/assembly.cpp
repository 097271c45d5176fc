// Throughput of one thread that assembles batches: images/s from pixels in memory to normalized
// floats. It shows whether the loader keeps up with a step: ResNet-20 takes about 1 ms per image on
// a core.
#include "data/batch.hpp"
#include "data/formats.hpp"
#include "data/image_adapter.hpp"

#include <benchmark/benchmark.h>

#include <array>

using namespace troupe;
using namespace troupe::data;

namespace {

/// Fixed pixels in memory: generating those of the synthetic set would dominate the time.
class Still : public ImageDataset {
public:
  Still(int size, int channels)
      : ImageDataset{{.name = "still",
                      .source = "memory",
                      .class_names = {"one"},
                      .channels = channels,
                      .normalization = {{0.5f, 0.5f, 0.5f}, {0.25f, 0.25f, 0.25f}}},
                     std::vector<std::int32_t>(50000, 0)},
        size_{size}, pixels_(std::size_t{64} * static_cast<std::size_t>(size) *
                             static_cast<std::size_t>(size) * static_cast<std::size_t>(channels)) {
    for (std::size_t i = 0; i < pixels_.size(); ++i)
      pixels_[i] = static_cast<std::uint8_t>(i * 31);
  }

  Result<ImageView> read(std::int64_t index, std::vector<std::uint8_t>&) const override {
    const auto bytes = pixels_.size() / 64;
    return ImageView{{pixels_.data() + static_cast<std::size_t>(index % 64) * bytes, bytes},
                     size_,
                     size_,
                     info().channels};
  }

private:
  void keep(std::span<const std::int64_t>) override {} // no limit to enforce
  void add_pixels(Sha256&) const override {}           // its digest is unused

  int size_;
  std::vector<std::uint8_t> pixels_;
};

/// Arguments: batch, stored size, output size, stored channels, augmented (0 or 1).
void assemble(benchmark::State& state) {
  const auto batch = state.range(0);
  const auto dataset =
      std::make_shared<Still>(static_cast<int>(state.range(1)), static_cast<int>(state.range(3)));
  const bool augmented = state.range(4) != 0;
  const auto sampler = DistributedSampler::create({.size = dataset->size(), .global_batch = batch});
  const auto adapter = std::make_shared<const ImageAdapter>(
      dataset, AugmentOptions{.image_size = static_cast<int>(state.range(2)),
                              .channels = 3,
                              .crop = augmented,
                              .flip = augmented,
                              .normalization = dataset->info().normalization});
  const BatchAssembler assembler{adapter, *sampler};
  std::vector<float> images(static_cast<std::size_t>(batch) * adapter->augment().elements());
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
  const std::array fields{std::as_writable_bytes(std::span{images}),
                          std::as_writable_bytes(std::span{labels})};
  std::int64_t step = 0;
  while (state.KeepRunning())
    if (!assembler.fill(assembler.sampler().position(step++), {}, fields))
      state.SkipWithError("a batch could not be filled");
  state.counters["images/s"] =
      benchmark::Counter(static_cast<double>(batch), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(assemble)
    ->ArgNames({"batch", "stored", "output", "channels", "augmented"})
    ->Args({128, 32, 32, 3, 0})
    ->Args({128, 32, 32, 3, 1})
    ->Args({128, 28, 28, 1, 1})
    ->Args({128, 28, 32, 1, 1})
    ->Args({8, 32, 224, 3, 1})
    ->Args({8, 224, 224, 3, 1})
    ->Args({8, 400, 224, 3, 1})
    ->Unit(benchmark::kMicrosecond);

/// Measures only the sampler.
void sample_indices(benchmark::State& state) {
  const auto sampler = *DistributedSampler::create({.size = 1281167, .global_batch = 128});
  std::vector<std::int64_t> indices(128);
  std::int64_t step = 0;
  while (state.KeepRunning()) {
    (void)sampler.indices(sampler.position(step++), {}, indices);
    benchmark::DoNotOptimize(indices.data());
  }
}
BENCHMARK(sample_indices)->Unit(benchmark::kMicrosecond);

} // namespace

BENCHMARK_MAIN();
