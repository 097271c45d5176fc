// Compares the batch norm kernels with the interpreter.
#include "gpu/kernels/batch_norm.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

/// One batch norm with all of its inputs, on the host and on the device.
struct Case {
  Shape shape;
  std::int64_t channels;
  std::size_t n, c;
  DType dtype;
  Floats x, residual, dy, scale, shift, running_mean, running_variance;

  Case(const Shape& s, DType type, float centre = 0)
      : shape{s}, channels{s[3]}, n{static_cast<std::size_t>(s.elements())},
        c{static_cast<std::size_t>(channels)}, dtype{type}, x{normal_values(n, 1)},
        residual{normal_values(n, 2, type)}, dy{normal_values(n, 3, type)},
        scale{normal_values(c, 4)}, shift{normal_values(c, 5)}, running_mean{normal_values(c, 6)},
        running_variance(c, 1.5f) {
    for (std::size_t i = 0; i < n; ++i)
      x[i] += centre + static_cast<float>(i % c) / 8;
    x = rounded(x, type);
  }
  BatchNormShape kernel_shape() const {
    return {dtype, static_cast<std::int64_t>(n / c), channels};
  }
};

/// Odd numbers of channels, whole packs, several groups of channels, many rows.
const std::vector<Shape> shapes = {{2, 3, 5, 3},     {4, 5, 7, 16},  {2, 4, 4, 20},
                                   {8, 20, 20, 64},  {2, 3, 3, 600}, {1, 7, 7, 2048},
                                   {16, 28, 28, 128}};

struct Forward {
  Floats y, mean, inv_std, running_mean, running_variance;
};

Forward reference(const Case& k, const BatchNormAttributes& a) {
  std::vector<ReferenceTensor> in{{k.shape, k.x},
                                  {{k.channels}, k.scale},
                                  {{k.channels}, k.shift},
                                  {{k.channels}, k.running_mean},
                                  {{k.channels}, k.running_variance}};
  if (a.add)
    in.push_back({k.shape, k.residual});
  std::vector<ReferenceTensor> out{{k.shape}};
  if (a.training)
    out.insert(out.end(), 2, {{k.channels}});
  run_reference(Op::batch_norm, a, in, out);
  if (!a.training)
    out.resize(3);
  return {out[0].values, out[1].values, out[2].values, in[3].values, in[4].values};
}

} // namespace

TEST_CASE_METHOD(GpuFixture, "batch norm forward in training, with add and relu") {
  for (const auto& shape : shapes)
    for (const auto dtype : {DType::f32, DType::f16, DType::bf16})
      for (const bool fused : {false, true}) {
        const Case k{shape, dtype};
        INFO(shape.to_string() << ' ' << to_string(dtype) << ' ' << fused);
        const auto expected = reference(k, {.relu = fused, .add = fused});
        auto *const mean = float_room(k.c), *const inv_std = float_room(k.c),
                    *const running_mean = floats(k.running_mean),
                    *const running_variance = floats(k.running_variance),
                    *const equal_scale = float_room(k.c), *const equal_shift = float_room(k.c);
        auto *const x = upload(k.x, dtype), *const y = room(k.n, dtype);
        const auto *const scale = floats(k.scale), *const shift = floats(k.shift);
        launch_batch_norm_statistics(handle(), k.kernel_shape(), x,
                                     {.saved_mean = mean,
                                      .saved_inv_std = inv_std,
                                      .running_mean = running_mean,
                                      .running_variance = running_variance,
                                      .scale = scale,
                                      .shift = shift,
                                      .equivalent_scale = equal_scale,
                                      .equivalent_shift = equal_shift},
                                     stream().scratch());
        const void* const residual = fused ? upload(k.residual, dtype) : nullptr;
        launch_batch_norm_apply(handle(), k.kernel_shape(),
                                {.x = x,
                                 .residual = residual,
                                 .y = y,
                                 .scale = scale,
                                 .shift = shift,
                                 .mean = mean,
                                 .inv_std = inv_std,
                                 .relu = fused});
        require_near(download(mean, k.c), expected.mean, 1e-5f, "mean");
        require_near(download(inv_std, k.c), expected.inv_std, 1e-5f, "inverse deviation");
        require_near(download(running_mean, k.c), expected.running_mean, 1e-5f, "running mean");
        require_near(download(running_variance, k.c), expected.running_variance, 1e-5f,
                     "running variance");
        require_near(download(y, k.n, dtype), expected.y, tolerance(dtype), "y");

        launch_scale_bias(handle(), k.kernel_shape(),
                          {.x = x,
                           .scale = equal_scale,
                           .shift = equal_shift,
                           .z = residual,
                           .y = y,
                           .relu = fused});
        require_near(download(y, k.n, dtype), expected.y, tolerance(dtype) + 1e-5f, "scale, bias");
      }
}

TEST_CASE_METHOD(GpuFixture, "statistics of values far from zero, and from given sums") {
  const Case far{{8, 16, 16, 16}, DType::f32, 1000};
  const auto expected = reference(far, {});
  auto *const mean = float_room(far.c), *const inv_std = float_room(far.c);
  launch_batch_norm_statistics(handle(), far.kernel_shape(), upload(far.x),
                               {.saved_mean = mean, .saved_inv_std = inv_std}, stream().scratch());
  require_near(download(mean, far.c), expected.mean, 1e-6f, "mean");
  require_near(download(inv_std, far.c), expected.inv_std, 1e-4f, "inverse deviation");

  const Case k{{4, 5, 5, 24}, DType::f32};
  const auto near_zero = reference(k, {});
  Floats sum(k.c), squares(k.c);
  for (std::size_t i = 0; i < k.n; ++i) {
    sum[i % k.c] += k.x[i];
    squares[i % k.c] += k.x[i] * k.x[i];
  }
  auto *const given_mean = float_room(k.c), *const given_inv_std = float_room(k.c),
              *const running_variance = floats(k.running_variance),
              *const equal_scale = float_room(k.c), *const equal_shift = float_room(k.c),
              *const scale_copy = float_room(k.c), *const shift_copy = float_room(k.c);
  for (const auto narrow : {DType::f16, DType::bf16}) {
    auto *const narrow_scale = room(k.c, narrow), *const narrow_shift = room(k.c, narrow);
    launch_batch_norm_finalize(handle(), 100, k.channels, floats(sum), floats(squares),
                               {.saved_mean = given_mean,
                                .saved_inv_std = given_inv_std,
                                .scale = floats(k.scale),
                                .shift = floats(k.shift),
                                .equivalent_scale = equal_scale,
                                .equivalent_shift = equal_shift,
                                .narrow = narrow,
                                .narrow_scale = narrow_scale,
                                .narrow_shift = narrow_shift,
                                .scale_copy = scale_copy,
                                .shift_copy = shift_copy});
    REQUIRE(download(narrow_scale, k.c, narrow) == rounded(download(equal_scale, k.c), narrow));
    REQUIRE(download(narrow_shift, k.c, narrow) == rounded(download(equal_shift, k.c), narrow));
  }
  REQUIRE((download(scale_copy, k.c) == k.scale && download(shift_copy, k.c) == k.shift));
  launch_batch_norm_finalize(handle(), 100, k.channels, floats(sum), floats(squares),
                             {.saved_mean = given_mean,
                              .saved_inv_std = given_inv_std,
                              .running_variance = running_variance});
  require_near(download(given_mean, k.c), near_zero.mean, 1e-4f, "mean");
  require_near(download(given_inv_std, k.c), near_zero.inv_std, 1e-4f, "inverse deviation");
  require_near(download(running_variance, k.c), near_zero.running_variance, 1e-4f, "running");
}

TEST_CASE_METHOD(GpuFixture, "batch norm in inference uses the running statistics") {
  for (const auto dtype : {DType::f32, DType::f16}) {
    const Case k{{3, 4, 5, 16}, dtype};
    const auto expected = reference(k, {.training = false, .relu = true});
    auto* const y = room(k.n, dtype);
    launch_batch_norm_apply(handle(), k.kernel_shape(),
                            {.x = upload(k.x, dtype),
                             .y = y,
                             .scale = floats(k.scale),
                             .shift = floats(k.shift),
                             .mean = floats(k.running_mean),
                             .variance = floats(k.running_variance),
                             .relu = true});
    require_near(download(y, k.n, dtype), expected.y, tolerance(dtype), "y");
  }
}

TEST_CASE_METHOD(GpuFixture, "batch norm backward, plain, with relu, with add, and in place") {
  for (const auto& shape : shapes)
    for (const auto dtype : {DType::f32, DType::f16, DType::bf16})
      for (const auto& [relu, add, give_y] : {std::tuple{false, false, true},
                                              {true, false, true},
                                              {true, false, false},
                                              {true, true, true},
                                              {false, true, true}}) {
        const Case k{shape, dtype};
        INFO(shape.to_string() << ' ' << to_string(dtype) << ' ' << relu << add << give_y);
        const BatchNormAttributes a{.relu = relu, .add = add};
        const auto forward = reference(k, a);
        // Relu's mask is that of the stored (rounded) y.
        std::vector<ReferenceTensor> in{{k.shape, k.dy},
                                        {k.shape, k.x},
                                        {{k.channels}, k.scale},
                                        {{k.channels}, forward.mean},
                                        {{k.channels}, forward.inv_std}};
        const auto y = rounded(forward.y, dtype);
        if (relu)
          in.push_back({k.shape, y});
        std::vector<ReferenceTensor> out{{k.shape}, {{k.channels}}, {{k.channels}}};
        if (add)
          out.push_back({k.shape});
        run_reference(Op::batch_norm_backward, a, in, out);

        auto* const dy = upload(k.dy, dtype);
        auto *const dscale = float_room(k.c), *const dshift = float_room(k.c);
        auto* const dresidual = add ? room(k.n, dtype) : nullptr;
        launch_batch_norm_backward(handle(), k.kernel_shape(),
                                   {.dy = dy,
                                    .x = upload(k.x, dtype),
                                    .relu = relu,
                                    .y = relu && give_y ? upload(y, dtype) : nullptr,
                                    .scale = floats(k.scale),
                                    .shift = floats(k.shift),
                                    .mean = floats(forward.mean),
                                    .inv_std = floats(forward.inv_std),
                                    .dx = dy, // in place
                                    .dscale = dscale,
                                    .dshift = dshift,
                                    .dresidual = dresidual},
                                   stream().scratch());
        require_near(download(dy, k.n, dtype), out[0].values, tolerance(dtype) + 1e-5f, "dx");
        require_near(download(dscale, k.c), out[1].values, 1e-4f, "dscale");
        require_near(download(dshift, k.c), out[2].values, 1e-4f, "dshift");
        if (add)
          require_near(download(dresidual, k.n, dtype), out[3].values, 0, "dresidual");
      }
}

namespace {

/// Returns a bit for each value, set if it is above 0; eight bits per byte, the lowest first.
Floats mask_of(const Floats& y) {
  Floats bytes(y.size() / 8);
  for (std::size_t i = 0; i < y.size(); ++i)
    bytes[i / 8] += y[i] > 0 ? static_cast<float>(1 << i % 8) : 0.0f;
  return bytes;
}

const std::vector<Shape> shapes_in_eights = {
    {4, 5, 7, 16}, {2, 4, 4, 24}, {8, 20, 20, 64}, {2, 3, 3, 600}, {1, 7, 7, 2048}};

} // namespace

TEST_CASE_METHOD(GpuFixture, "a mask is computed from y as it was stored") {
  for (const auto& shape : shapes_in_eights)
    for (const auto dtype : {DType::f32, DType::f16, DType::bf16}) {
      Case k{shape, dtype};
      k.residual[0] = -k.x[0]; // exactly 0 when the factors are 1
      k.residual[1] = std::numeric_limits<float>::quiet_NaN();
      INFO(shape.to_string() << ' ' << to_string(dtype));
      auto *const x = upload(k.x, dtype), *const residual = upload(k.residual, dtype);
      auto *const ones = floats(Floats(k.c, 1)), *const zeros = floats(Floats(k.c, 0));
      auto* const y = room(k.n, dtype);
      auto* const mask = static_cast<std::uint8_t*>(room(k.n / 8, DType::u8));
      launch_batch_norm_apply(handle(), k.kernel_shape(),
                              {.x = x,
                               .residual = residual,
                               .y = y,
                               .scale = ones,
                               .shift = zeros,
                               .mean = zeros,
                               .inv_std = ones,
                               .relu = true,
                               .mask = mask});
      REQUIRE(download(mask, k.n / 8, DType::u8) == mask_of(download(y, k.n, dtype)));
      launch_scale_bias(handle(), k.kernel_shape(),
                        {.x = x,
                         .scale = floats(k.scale),
                         .shift = floats(k.shift),
                         .z = residual,
                         .y = y,
                         .relu = true,
                         .mask = mask});
      REQUIRE(download(mask, k.n / 8, DType::u8) == mask_of(download(y, k.n, dtype)));
    }
}

TEST_CASE_METHOD(GpuFixture, "batch norm backward adds two gradients and reads a mask") {
  for (const auto& shape : shapes_in_eights)
    for (const auto dtype : {DType::f32, DType::f16, DType::bf16})
      for (const auto& [masked, two] : {std::pair{true, false}, {true, true}, {false, true}}) {
        const Case k{shape, dtype};
        INFO(shape.to_string() << ' ' << to_string(dtype) << ' ' << masked << two);
        BatchNormAttributes a{.relu = true, .add = true};
        const auto forward = reference(k, a);
        const auto y = rounded(forward.y, dtype);
        a.mask = masked;
        auto gradient = k.dy; // added here, because the interpreter would round the sum to f32
        const auto other = normal_values(k.n, 9, dtype);
        for (std::size_t i = 0; two && i < k.n; ++i)
          gradient[i] += other[i];
        std::vector<ReferenceTensor> in{{k.shape, rounded(gradient, dtype)},
                                        {k.shape, k.x},
                                        {{k.channels}, k.scale},
                                        {{k.channels}, forward.mean},
                                        {{k.channels}, forward.inv_std}};
        auto bytes = k.shape;
        bytes.dims.back() /= 8;
        in.push_back(masked ? ReferenceTensor{bytes, mask_of(y), DType::u8}
                            : ReferenceTensor{k.shape, y});
        std::vector<ReferenceTensor> out{{k.shape}, {{k.channels}}, {{k.channels}}, {k.shape}};
        run_reference(Op::batch_norm_backward, a, in, out);

        auto* const dy = upload(k.dy, dtype);
        auto *const dscale = float_room(k.c), *const dshift = float_room(k.c);
        auto* const dresidual = room(k.n, dtype);
        launch_batch_norm_backward(
            handle(), k.kernel_shape(),
            {.dy = dy,
             .x = upload(k.x, dtype),
             .other = two ? upload(other, dtype) : nullptr,
             .relu = true,
             .y = masked ? nullptr : upload(y, dtype),
             .mask = masked ? static_cast<std::uint8_t*>(upload(mask_of(y), DType::u8)) : nullptr,
             .scale = floats(k.scale),
             .mean = floats(forward.mean),
             .inv_std = floats(forward.inv_std),
             .dx = dy, // in place
             .dscale = dscale,
             .dshift = dshift,
             .dresidual = dresidual},
            stream().scratch());
        require_near(download(dresidual, k.n, dtype), out[3].values, 0, "dresidual");
        require_near(download(dy, k.n, dtype), out[0].values, tolerance(dtype) + 1e-5f, "dx");
        require_near(download(dscale, k.c), out[1].values, 1e-4f, "dscale");
        require_near(download(dshift, k.c), out[2].values, 1e-4f, "dshift");
      }
}

TEST_CASE_METHOD(GpuFixture, "sums over rows have the same bits every time") {
  const Case k{{16, 28, 28, 64}, DType::f16};
  auto* const x = upload(k.x, k.dtype);
  std::vector<Floats> means, deviations;
  for (int again = 0; again < 3; ++again) {
    auto *const mean = float_room(k.c), *const inv_std = float_room(k.c);
    launch_batch_norm_statistics(handle(), k.kernel_shape(), x,
                                 {.saved_mean = mean, .saved_inv_std = inv_std},
                                 stream().scratch());
    means.push_back(download(mean, k.c));
    deviations.push_back(download(inv_std, k.c));
  }
  REQUIRE((means[0] == means[1] && means[0] == means[2]));
  REQUIRE((deviations[0] == deviations[1] && deviations[0] == deviations[2]));
}

TEST_CASE_METHOD(GpuFixture, "two scaled inputs give one output, and dx equals a dy + b x + c") {
  const Case k{{2, 5, 5, 24}, DType::f16};
  const auto a = normal_values(k.c, 7), b = normal_values(k.c, 8);
  Floats dual(k.n), linear(k.n);
  for (std::size_t i = 0; i < k.n; ++i) {
    const auto c = i % k.c;
    dual[i] = std::max(0.0f, k.x[i] * k.scale[c] + k.shift[c] + k.residual[i] * a[c] + b[c]);
    linear[i] = k.scale[c] * k.dy[i] + a[c] * k.x[i] + b[c];
  }
  auto *const x = upload(k.x, k.dtype), *const y = room(k.n, k.dtype);
  launch_scale_bias(handle(), k.kernel_shape(),
                    {.x = x,
                     .scale = floats(k.scale),
                     .shift = floats(k.shift),
                     .z = upload(k.residual, k.dtype),
                     .z_scale = floats(a),
                     .z_shift = floats(b),
                     .y = y,
                     .relu = true});
  require_near(download(y, k.n, k.dtype), dual, tolerance(k.dtype), "dual");
  auto *const dscale = float_room(k.c), *const dshift = float_room(k.c);
  launch_dbn_apply(handle(), k.kernel_shape(),
                   {.dy = upload(k.dy, k.dtype),
                    .x = x,
                    .a = floats(k.scale),
                    .b = floats(a),
                    .c = floats(b),
                    .dx = y,
                    .dscale = floats(a),
                    .dshift = floats(b),
                    .dscale_copy = dscale,
                    .dshift_copy = dshift});
  require_near(download(y, k.n, k.dtype), linear, tolerance(k.dtype), "linear");
  REQUIRE((download(dscale, k.c) == a && download(dshift, k.c) == b));
}
