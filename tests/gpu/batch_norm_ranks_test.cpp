// Compares the kernels of synchronized batch norm on two ranks, each with a shard of the rows, with
// the interpreter on all rows.
#include "core/device/sum_over_ranks.hpp"
#include "gpu/kernels/batch_norm.hpp"
#include "gpu/kernels/sum.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

constexpr std::int64_t channels = 24, images = 4, pixels = 35;
constexpr std::size_t value_count = channels * images * pixels, per_channel = channels;
const Shape shape{images, 5, 7, channels}, by_channel{channels};
/// The first rank has three images, the second one.
constexpr std::array<std::size_t, 3> cuts = {0, value_count / 4 * 3, value_count};

Floats part(const Floats& values, std::size_t rank) {
  return {values.begin() + static_cast<std::ptrdiff_t>(cuts[rank]),
          values.begin() + static_cast<std::ptrdiff_t>(cuts[rank + 1])};
}

BatchNormShape part_shape(std::size_t rank, DType dtype) {
  return {dtype, static_cast<std::int64_t>(cuts[rank + 1] - cuts[rank]) / channels, channels};
}

} // namespace

TEST_CASE_METHOD(GpuFixture, "batch norm over two ranks' rows equals batch norm over all rows") {
  for (const auto dtype : {DType::f32, DType::f16, DType::bf16}) {
    INFO(to_string(dtype));
    const auto x = normal_values(value_count, 1, dtype), dy = normal_values(value_count, 2, dtype);
    const auto scale = normal_values(per_channel, 3), shift = normal_values(per_channel, 4);
    std::vector<ReferenceTensor> in{{shape, x},
                                    {by_channel, scale},
                                    {by_channel, shift},
                                    {by_channel, Floats(per_channel)},
                                    {by_channel, Floats(per_channel, 1)}};
    std::vector<ReferenceTensor> out{{shape}, {by_channel}, {by_channel}};
    run_reference(Op::batch_norm, BatchNormAttributes{}, in, out);
    std::vector<ReferenceTensor> backward_in{
        {shape, dy}, {shape, x}, {by_channel, scale}, out[1], out[2]};
    std::vector<ReferenceTensor> gradients{{shape}, {by_channel}, {by_channel}};
    run_reference(Op::batch_norm_backward, BatchNormAttributes{}, backward_in, gradients);

    constexpr auto values = 2 * per_channel + 1;
    std::array<double*, 2> sums = {};
    for (auto& rank : sums)
      rank = static_cast<double*>(room(2 * values)); // a double is two floats wide
    const auto sum_over_ranks = [&] {
      launch_sum(handle(), DType::f64, {.data = {sums[0], sums[1]}, .count = 2}, sums[0], values);
    };
    for (std::size_t rank = 0; rank < 2; ++rank)
      launch_batch_norm_rank_sums(handle(), part_shape(rank, dtype), upload(part(x, rank), dtype),
                                  sums[rank], stream().scratch());
    sum_over_ranks();
    auto *const mean = float_room(per_channel), *const inv_std = float_room(per_channel),
                *const running_mean = floats(Floats(per_channel)),
                *const running_variance = floats(Floats(per_channel, 1));
    launch_batch_norm_finalize(handle(), channels, sums[0],
                               {.saved_mean = mean,
                                .saved_inv_std = inv_std,
                                .running_mean = running_mean,
                                .running_variance = running_variance});
    require_near(download(mean, per_channel), out[1].values, 1e-5f, "mean");
    require_near(download(inv_std, per_channel), out[2].values, 1e-5f, "inverse deviation");
    require_near(download(running_mean, per_channel), in[3].values, 1e-5f, "running mean");
    require_near(download(running_variance, per_channel), in[4].values, 1e-5f, "running variance");

    std::array<BatchNormBackward, 2> ranks;
    Floats dx, dscale(per_channel), dshift(per_channel);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      ranks[rank] = {.dy = upload(part(dy, rank), dtype),
                     .x = upload(part(x, rank), dtype),
                     .scale = floats(scale),
                     .mean = mean,
                     .inv_std = inv_std,
                     .dx = room(cuts[rank + 1] - cuts[rank], dtype),
                     .dscale = float_room(per_channel),
                     .dshift = float_room(per_channel)};
      launch_batch_norm_backward_sums(handle(), part_shape(rank, dtype), ranks[rank], sums[rank],
                                      stream().scratch());
    }
    sum_over_ranks();
    for (std::size_t rank = 0; rank < 2; ++rank) {
      launch_batch_norm_backward_input(handle(), part_shape(rank, dtype), ranks[rank], sums[0]);
      const auto rows = download(ranks[rank].dx, cuts[rank + 1] - cuts[rank], dtype);
      dx.insert(dx.end(), rows.begin(), rows.end());
      const auto scales = download(ranks[rank].dscale, per_channel),
                 shifts = download(ranks[rank].dshift, per_channel);
      for (std::size_t c = 0; c < per_channel; ++c) {
        dscale[c] += scales[c];
        dshift[c] += shifts[c];
      }
    }
    require_near(dx, gradients[0].values, tolerance(dtype) + 1e-5f, "dx");
    require_near(dscale, gradients[1].values, 1e-4f, "dscale, this rank's and the other's");
    require_near(dshift, gradients[2].values, 1e-4f, "dshift, this rank's and the other's");
  }
}
