// Compares element-wise, pooling and loss kernels with the interpreter.
#include "gpu/kernels/batch_norm_pooled.hpp"
#include "gpu/kernels/elementwise.hpp"
#include "gpu/kernels/flat.hpp"
#include "gpu/kernels/loss.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

constexpr auto types = {DType::f32, DType::f16, DType::bf16};

std::size_t count(const Shape& shape) {
  return static_cast<std::size_t>(shape.elements());
}

} // namespace

TEST_CASE_METHOD(GpuFixture, "casts round to nearest, for odd sizes and offsets") {
  for (const auto from : types)
    for (const auto to : types)
      for (const std::size_t skew : {0u, 1u}) {
        const auto values = normal_values(1003, 1, from);
        auto* const out = room(1003, to);
        launch_cast(handle(), upload(values, from, skew), from, out, to, 1003);
        REQUIRE(download(out, 1003, to) == rounded(values, to));
      }
}

TEST_CASE_METHOD(GpuFixture, "relu, its backward, add and bias match the interpreter") {
  for (const auto dtype : types)
    for (const std::size_t skew : {0u, 1u}) {
      const Shape shape{7, 24};
      const auto n = count(shape);
      const auto a = normal_values(n, 1, dtype), b = normal_values(n, 2, dtype),
                 bias = normal_values(24, 3);
      auto* const out = room(n, dtype, skew);
      std::vector<ReferenceTensor> y{{shape}};

      std::vector<ReferenceTensor> one{{shape, a}};
      run_reference(Op::relu, {}, one, y);
      launch_relu(handle(), dtype, upload(a, dtype, skew), out, n);
      require_near(download(out, n, dtype), y[0].values, 0, "relu");

      std::vector<ReferenceTensor> two{{shape, a}, {shape, b}};
      run_reference(Op::relu_backward, {}, two, y);
      launch_relu_backward(handle(), dtype, upload(a, dtype, skew), upload(b, dtype, skew), out, n);
      require_near(download(out, n, dtype), y[0].values, 0, "relu backward");

      run_reference(Op::add, {}, two, y);
      launch_add(handle(), dtype, out, upload(a, dtype, skew), upload(b, dtype, skew), n);
      require_near(download(out, n, dtype), y[0].values, tolerance(dtype), "add");

      std::vector<ReferenceTensor> with_bias{{shape, a}, {{24}, bias}};
      run_reference(Op::bias, {}, with_bias, y);
      launch_bias(handle(), dtype, upload(a, dtype, skew), floats(bias), out, 7, 24);
      require_near(download(out, n, dtype), y[0].values, tolerance(dtype), "bias");
    }
}

// Up to a few hundred blocks; 5 columns, and an address that is no multiple of 16 bytes, have no
// packs. 20001 columns are more than the blocks of one launch can sum.
TEST_CASE_METHOD(GpuFixture, "gradients of biases match the interpreter and are repeatable") {
  for (const auto dtype : types)
    for (const auto& shape : {Shape{7, 24}, Shape{3000, 5}, Shape{3001, 768}, Shape{9, 20'001}})
      for (const std::size_t skew : {0u, 1u}) {
        CAPTURE(to_string(dtype), shape[0], shape[1], skew);
        const auto columns = static_cast<std::size_t>(shape[1]);
        std::vector<ReferenceTensor> dy{{shape, normal_values(count(shape), 1, dtype)}};
        std::vector<ReferenceTensor> dbias{{{shape[1]}}};
        run_reference(Op::bias_backward, {}, dy, dbias);
        auto* const sums = float_room(columns);
        const auto* const on_device = upload(dy[0].values, dtype, skew);
        const auto run = [&] {
          launch_bias_backward(handle(), dtype, on_device, sums, shape[0], shape[1],
                               stream().scratch());
          return download(sums, columns);
        };
        const auto first = run();
        require_near(first, dbias[0].values, 1e-5f, "bias backward");
        REQUIRE(run() == first);
      }
}

TEST_CASE_METHOD(GpuFixture, "subsampling with padded channels, forward and backward") {
  const SubsamplePadAttributes a{2, 3, 5};
  const Shape x_shape{2, 7, 6, 8}, y_shape{2, 4, 3, 16};
  const SubsampleShape shape{2, 7, 6, 8, 4, 3, 16, 2, 3};
  for (const auto dtype : types) {
    std::vector<ReferenceTensor> in{{x_shape, normal_values(count(x_shape), 1, dtype)}},
        out{{y_shape}};
    run_reference(Op::subsample_pad, a, in, out);
    auto* const y = room(count(y_shape), dtype);
    launch_subsample_pad(handle(), dtype, upload(in[0].values, dtype), y, shape);
    REQUIRE(download(y, count(y_shape), dtype) == out[0].values);

    std::vector<ReferenceTensor> dy{{y_shape, normal_values(count(y_shape), 2, dtype)}},
        dx{{x_shape}};
    run_reference(Op::subsample_pad_backward, a, dy, dx);
    auto* const x = room(count(x_shape), dtype);
    launch_subsample_pad_backward(handle(), dtype, upload(dy[0].values, dtype), x, shape);
    REQUIRE(download(x, count(x_shape), dtype) == dx[0].values);
  }
}

TEST_CASE_METHOD(GpuFixture,
                 "pooling of channels in packs and of odd channels, indices of i32 and u8") {
  const auto pools = {PoolAttributes{3, 3, 2, 1}, PoolAttributes{2, 2, 2, 0},
                      PoolAttributes{3, 2, 1, 1}, PoolAttributes{7, 7, 7, 0}};
  for (const auto& pool : pools)
    for (const auto dtype : types)
      for (const int channels : {16, 5})
        for (const auto index_type : {DType::i32, DType::u8}) {
          const auto size = [&](std::int64_t in, std::int64_t kernel) {
            return (in + 2 * pool.padding - kernel) / pool.stride + 1;
          };
          const Shape xs{2, 9, 7, channels};
          const Shape ys{2, size(9, pool.kernel_h), size(7, pool.kernel_w), channels};
          const PoolShape shape{
              2, 9, 7, static_cast<int>(ys[1]), static_cast<int>(ys[2]), channels, pool, dtype};
          const auto values = normal_values(count(xs), 1, dtype),
                     gradients = normal_values(count(ys), 2, dtype);
          auto* const x = upload(values, dtype);
          auto* const dy = upload(gradients, dtype);
          auto *const y = room(count(ys), dtype), *const dx = room(count(xs), dtype),
                      *const index = room(count(ys), index_type);
          std::vector<ReferenceTensor> in{{xs, values}}, out{{ys}, {ys, {}, DType::i32}};
          run_reference(Op::max_pool, pool, in, out);
          launch_max_pool(handle(), shape, x, y, index, index_type);
          require_near(download(y, count(ys), dtype), out[0].values, 0, "max pool");
          REQUIRE(download(index, count(ys), index_type) == out[1].values);

          std::vector<ReferenceTensor> back{{ys, gradients}, out[1]}, to{{xs}};
          run_reference(Op::max_pool_backward, pool, back, to);
          launch_max_pool_backward(handle(), shape, dy, index, index_type, dx);
          require_near(download(dx, count(xs), dtype), to[0].values, tolerance(dtype), "backward");

          std::vector<ReferenceTensor> averages{{ys}}, average_dy{{ys, gradients}};
          run_reference(Op::avg_pool, pool, in, averages);
          launch_avg_pool(handle(), shape, x, y);
          require_near(download(y, count(ys), dtype), averages[0].values, tolerance(dtype), "avg");
          run_reference(Op::avg_pool_backward, pool, average_dy, to);
          launch_avg_pool_backward(handle(), shape, dy, dx);
          require_near(download(dx, count(xs), dtype), to[0].values, tolerance(dtype), "backward");
        }
}

TEST_CASE_METHOD(GpuFixture, "pooling of a batch norm's unstored result, and its backward") {
  const PoolAttributes pool{
      .kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1, .prologue = true};
  for (const auto dtype : types)
    for (const int channels : {16, 5}) {
      const Shape xs{2, 9, 7, channels}, ys{2, 5, 4, channels}, cs{channels};
      const PoolShape shape{2, 9, 7, 5, 4, channels, pool, dtype};
      const auto normal = [&](const Shape& s, std::uint64_t seed, DType type = DType::f32) {
        return ReferenceTensor{s, normal_values(count(s), seed, type), type};
      };
      const auto x = normal(xs, 1, dtype), dy = normal(ys, 2, dtype), factor = normal(cs, 3),
                 offset = normal(cs, 4), scale = normal(cs, 5), mean = normal(cs, 6);
      auto inv_std = normal(cs, 7);
      for (auto& value : inv_std.values)
        value = std::abs(value) + 0.5f;
      const auto by_channel = [&](const ReferenceTensor& t) {
        return reinterpret_cast<float*>(upload(t.values, DType::f32));
      };
      auto *const x_at = upload(x.values, dtype), *const dy_at = upload(dy.values, dtype);
      auto *const y = room(count(ys), dtype), *const dx = room(count(xs), dtype);
      auto* const index = reinterpret_cast<std::uint8_t*>(room(count(ys), DType::u8));
      auto *const factors = by_channel(factor), *const offsets = by_channel(offset);

      std::vector<ReferenceTensor> in{x, factor, offset},
          out{{ys, {}, dtype}, {ys, {}, DType::i32}};
      run_reference(Op::max_pool, pool, in, out);
      launch_normalized_max_pool(handle(), shape, x_at, factors, offsets, y, index);
      require_near(download(y, count(ys), dtype), out[0].values, tolerance(dtype), "max pool");
      REQUIRE(download(index, count(ys), DType::u8) == out[1].values);

      BatchNormAttributes attributes{.relu = true, .pooled = pool};
      attributes.pooled->prologue = false;
      std::vector<ReferenceTensor> back{dy, x, scale, mean, inv_std, factor, offset, out[1]};
      std::vector<ReferenceTensor> to{{xs, {}, dtype}, {cs}, {cs}};
      run_reference(Op::batch_norm_backward, attributes, back, to);
      auto* const dscale = reinterpret_cast<float*>(room(channels, DType::f32));
      auto* const dshift = reinterpret_cast<float*>(room(channels, DType::f32));
      launch_pooled_batch_norm_backward(handle(), shape,
                                        {.dy = dy_at,
                                         .index = index,
                                         .x = x_at,
                                         .factor = factors,
                                         .offset = offsets,
                                         .scale = by_channel(scale),
                                         .mean = by_channel(mean),
                                         .inv_std = by_channel(inv_std),
                                         .dx = dx,
                                         .dscale = dscale,
                                         .dshift = dshift},
                                        stream().scratch());
      require_near(download(dscale, channels, DType::f32), to[1].values, 1e-4f, "dscale");
      require_near(download(dshift, channels, DType::f32), to[2].values, 1e-4f, "dshift");
      require_near(download(dx, count(xs), dtype), to[0].values, tolerance(dtype), "dx");
    }
}

TEST_CASE_METHOD(GpuFixture, "cross entropy and its gradient, in one kernel and in two") {
  for (const int rows : {1, 37, 9000})
    for (const int classes : {10, 1000})
      for (const LossAttributes attributes :
           {LossAttributes{}, LossAttributes{0.1f}, LossAttributes{0.1f, 7.5}}) {
        if (rows == 9000 && classes == 1000)
          continue; // the interpreter would be slow
        const Shape shape{rows, classes};
        const auto n = count(shape);
        Floats labels;
        for (int i = 0; i < rows; ++i)
          labels.push_back(i % 5 == 1 ? -1.0f : static_cast<float>(i * 7 % classes));
        std::vector<ReferenceTensor> in{{shape, normal_values(n, 1)}, {{rows}, labels, DType::i32}};
        std::vector<ReferenceTensor> out{{Shape{}}, {shape}, {Shape{}}}, gradient{{shape}},
            correct{{Shape{}}};
        run_reference(Op::softmax_cross_entropy, attributes, in, out);
        std::vector<ReferenceTensor> back{out[1], in[1]};
        run_reference(Op::softmax_cross_entropy_backward, attributes, back, gradient);
        run_reference(Op::count_correct, {}, in, correct);
        for (auto& value : gradient[0].values)
          value *= 8;

        const auto* const on_labels = static_cast<const std::int32_t*>(upload(labels, DType::i32));
        auto *const loss = float_room(1), *const p = float_room(n), *const d = float_room(n),
                    *const hits = float_room(1), *const counted = float_room(1),
                    *const scale = floats({8});
        const CrossEntropy arguments{.logits = floats(in[0].values),
                                     .labels = on_labels,
                                     .rows = rows,
                                     .classes = classes,
                                     .attributes = attributes,
                                     .loss = loss,
                                     .probabilities = p,
                                     .dlogits = d,
                                     .loss_scale = scale,
                                     .correct = hits,
                                     .counted = counted};
        for (int again = 0; again < 2; ++again) { // the scratch memory was not changed
          launch_softmax_cross_entropy(handle(), arguments, stream().scratch());
          require_near(download(loss, 1), out[0].values, 1e-5f, "loss");
          require_near(download(p, n), out[1].values, 1e-5f, "probabilities");
          require_near(download(d, n), gradient[0].values, 1e-4f, "gradient");
          REQUIRE(download(hits, 1) == correct[0].values);
          REQUIRE(download(counted, 1) == out[2].values);
        }
        auto* const separate = float_room(n);
        launch_softmax_cross_entropy_backward(handle(), p, on_labels, rows, classes, attributes,
                                              scale, separate);
        require_near(download(separate, n), gradient[0].values, 1e-4f, "separate gradient");
        launch_count_correct(handle(), arguments.logits, on_labels, rows, classes, hits);
        REQUIRE(download(hits, 1) == correct[0].values);
      }
}

TEST_CASE_METHOD(
    GpuFixture,
    "without a counted label the loss is zero, and a label outside of the classes gives a NaN") {
  for (const float label : {-1.0f, 4.0f}) {
    auto *const loss = float_room(1), *const d = float_room(8);
    launch_softmax_cross_entropy(
        handle(),
        {.logits = floats(normal_values(8, 1)),
         .labels = static_cast<const std::int32_t*>(upload({label, label}, DType::i32)),
         .rows = 2,
         .classes = 4,
         .loss = loss,
         .dlogits = d},
        stream().scratch());
    const auto found = download(loss, 1)[0];
    if (label < 0) {
      CHECK(found == 0);
      CHECK(download(d, 8) == Floats(8, 0));
    } else {
      CHECK(std::isnan(found));
    }
  }
}

TEST_CASE_METHOD(GpuFixture, "the mean squared error, of values and of labels") {
  const Shape shape{33, 10};
  const auto n = count(shape);
  Floats labels;
  for (int i = 0; i < 33; ++i)
    labels.push_back(i % 4 == 1 ? -1.0f : static_cast<float>(i % 10));
  auto values = normal_values(n, 2);
  std::fill_n(values.begin() + 20, 10, NAN); // a row that is ignored
  for (const bool of_values : {true, false}) {
    std::vector<ReferenceTensor> in{{shape, normal_values(n, 1)}}, loss{{Shape{}}, {Shape{}}},
        gradient{{shape}};
    in.push_back(of_values ? ReferenceTensor{shape, values}
                           : ReferenceTensor{{33}, labels, DType::i32});
    run_reference(Op::mean_squared_error, LossAttributes{}, in, loss);
    run_reference(Op::mean_squared_error_backward, LossAttributes{}, in, gradient);
    SquaredError arguments{.prediction = floats(in[0].values), .rows = 33, .columns = 10};
    if (of_values)
      arguments.values = floats(values);
    else
      arguments.labels = static_cast<const std::int32_t*>(upload(labels, DType::i32));
    auto *const on_loss = float_room(1), *const counted = float_room(1), *const d = float_room(n);
    launch_mean_squared_error(handle(), arguments, on_loss, counted);
    launch_mean_squared_error_backward(handle(), arguments, nullptr, d);
    require_near(download(on_loss, 1), loss[0].values, 1e-5f, "loss");
    REQUIRE(download(counted, 1) == loss[1].values);
    require_near(download(d, n), gradient[0].values, 1e-5f, "gradient");
  }
}

TEST_CASE_METHOD(GpuFixture, "inf and nan are found at every position and skip the step") {
  constexpr std::size_t n = 10007;
  for (const std::size_t bad : {n, std::size_t{0}, std::size_t{5000}, n - 1}) {
    auto gradients = normal_values(n, 1);
    if (bad < n)
      gradients[bad] = bad == 0 ? NAN : std::numeric_limits<float>::infinity();
    const auto memory = device().allocate(sizeof(LossScaleState), MemoryKind::optimizer).value();
    auto* const state = reinterpret_cast<LossScaleState*>(memory->data());
    const LossScaleState start{.scale = 4};
    device().copy(stream(), state, &start, sizeof start);
    REQUIRE(stream().synchronize());
    auto* const on_gradients = floats(gradients);
    auto* const parameters = floats(Floats(n, 1));
    launch_check_finite(handle(), on_gradients, n, &state->found_inf);
    launch_optimizer_step(handle(), {.lr = 1}, {parameters, on_gradients, nullptr, nullptr, n},
                          nullptr, state);
    launch_update_loss_scale(handle(), {}, state);
    LossScaleState end;
    device().copy(stream(), &end, state, sizeof end);
    const auto updated = download(parameters, n);
    if (bad < n) {
      CHECK(updated == Floats(n, 1));
      CHECK((end.skipped == 1 && end.taken == 0 && end.scale == 2));
    } else {
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(std::abs(updated[i] - (1 - gradients[i] / 4)) < 1e-6f);
      CHECK((end.skipped == 0 && end.taken == 1 && end.scale == 4));
    }
  }
}
