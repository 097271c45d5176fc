// Compares kernels of language models with the interpreter, in shapes that the models of
// tests/devices lack.
#include "gpu/kernels/attention.hpp"
#include "gpu/kernels/embedding.hpp"
#include "gpu/kernels/linear_cross_entropy.hpp"
#include "gpu/kernels/rope.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

/// Returns ids of which some occur often and some never, near to each other and far apart.
Floats ids_of(std::size_t rows, std::size_t table_rows) {
  Floats ids(rows);
  for (std::size_t i = 0; i < rows; ++i)
    ids[i] = static_cast<float>(i % 3 == 0 ? 1 : i * i % (table_rows - 2));
  return ids;
}

ReferenceTensor normal(const Shape& shape, std::uint64_t stream, DType dtype = DType::f32) {
  return {shape, normal_values(static_cast<std::size_t>(shape.elements()), stream, dtype), dtype};
}

} // namespace

TEST_CASE_METHOD(GpuFixture, "rows of a table, and gradients of rows that few or many ids share") {
  for (const auto& [row_count, columns] : {std::pair{150, 5}, {150, 8}, {1000, 5}, {1000, 72}}) {
    const auto table_rows = 40;
    const Shape rows{row_count, columns}, table{table_rows, columns};
    const ReferenceTensor ids{
        {row_count}, ids_of(static_cast<std::size_t>(row_count), table_rows), DType::i32};
    const EmbeddingShape shape{row_count, columns, table_rows};
    auto* const on_device = static_cast<std::int32_t*>(upload(ids.values, DType::i32));
    std::vector<ReferenceTensor> in{ids, normal(table, 1)}, y{{rows}};
    run_reference(Op::embedding, {}, in, y);
    auto* const got = float_room(y[0].values.size());
    launch_embedding(handle(), shape, on_device, floats(in[1].values), got);
    REQUIRE(download(got, y[0].values.size()) == y[0].values);

    std::vector<ReferenceTensor> back{normal(rows, 2), ids}, dtable{{table}};
    run_reference(Op::embedding_backward, {}, back, dtable);
    auto* const sums = float_room(dtable[0].values.size());
    auto* const links = static_cast<std::int32_t*>(room(shape.link_bytes() / 4, DType::i32));
    launch_embedding_backward(handle(), shape, on_device, floats(back[0].values), links, sums);
    require_near(download(sums, dtable[0].values.size()), dtable[0].values, 1e-5f, "embedding");
    const auto first = download(sums, dtable[0].values.size());
    launch_embedding_backward(handle(), shape, on_device, floats(back[0].values), links, sums);
    REQUIRE(download(sums, dtable[0].values.size()) == first);
  }
}

TEST_CASE_METHOD(GpuFixture, "ids outside of the table give NaN") {
  const EmbeddingShape shape{3, 4, 2};
  auto* const ids = static_cast<std::int32_t*>(upload({-1, 1, 2}, DType::i32));
  auto* const y = float_room(12);
  launch_embedding(handle(), shape, ids, floats({1, 2, 3, 4, 5, 6, 7, 8}), y);
  const auto rows = download(y, 12);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::isnan(rows[i]));
    CHECK(rows[4 + i] == static_cast<float>(5 + i));
    CHECK(std::isnan(rows[8 + i]));
  }
  auto* const links = static_cast<std::int32_t*>(room(shape.link_bytes() / 4, DType::i32));
  auto* const sums = float_room(8);
  launch_embedding_backward(handle(), shape, ids, floats(Floats(12, 3.0f)), links, sums);
  REQUIRE(download(sums, 8) == Floats{0, 0, 0, 0, 3, 3, 3, 3});
}

// With this many rows, a thread rotates two of the three heads, or the last one.
TEST_CASE_METHOD(GpuFixture, "rotated heads of many rows match the interpreter") {
  const Shape shape{65536, 6};
  const RopeAttributes a{.sequence = 16, .heads = 3, .head_dim = 2};
  std::vector<ReferenceTensor> x{normal(shape, 1)}, y{{shape}};
  run_reference(Op::rope, a, x, y);
  auto* const got = float_room(y[0].values.size());
  launch_rope(handle(), DType::f32, a, Turn::forward, shape[0], floats(x[0].values), nullptr, got);
  require_near(download(got, y[0].values.size()), y[0].values, 1e-6f, "rope");
}

// Heads of 80 and 128 elements use other tiles than small heads; 45 rows are not a whole number of
// tiles.
TEST_CASE_METHOD(GpuFixture, "attention of large heads that share keys and values") {
  for (const auto dtype : {DType::f32, DType::bf16})
    for (const std::int64_t dim : {80, 128}) {
      INFO(to_string(dtype) << ", heads of " << dim);
      const AttentionAttributes a{.sequence = 45, .heads = 2, .kv_heads = 1, .head_dim = dim};
      const Shape wide{90, 2 * dim}, narrow{90, dim}, scalars{4, 45};
      const AttentionShape shape{a, dtype, 2, 2 * dim, dim};
      const auto room_for = [&](const Shape& s, DType type) {
        return room(static_cast<std::size_t>(s.elements()), type);
      };
      const auto near = [&](const void* got, const ReferenceTensor& reference, DType type,
                            const char* what) {
        require_near(download(got, reference.values.size(), type), reference.values,
                     type == DType::f32 ? 1e-5f : tolerance(type), what);
      };
      std::vector<ReferenceTensor> in{normal(wide, 1, dtype), normal(narrow, 2, dtype),
                                      normal(narrow, 3, dtype)};
      std::vector<ReferenceTensor> out{{wide}, {scalars}};
      run_reference(Op::causal_attention, a, in, out);
      const Attention on{.q = upload(in[0].values, dtype),
                         .k = upload(in[1].values, dtype),
                         .v = upload(in[2].values, dtype),
                         .y = room_for(wide, dtype),
                         .log_sum_exp = float_room(180)};
      launch_causal_attention(handle(), shape, on);
      near(on.y, out[0], dtype, "y");
      near(on.log_sum_exp, out[1], DType::f32, "log_sum_exp");

      const auto y = rounded(out[0].values, dtype);
      const auto dy = normal(wide, 4, dtype);
      std::vector<ReferenceTensor> back{dy, in[0], in[1], in[2], {wide, y, dtype}, out[1]};
      std::vector<ReferenceTensor> gradients{{wide}, {narrow}, {narrow}};
      run_reference(Op::causal_attention_backward, a, back, gradients);
      const AttentionBackward to{.dy = upload(dy.values, dtype),
                                 .q = on.q,
                                 .k = on.k,
                                 .v = on.v,
                                 .y = upload(y, dtype),
                                 .log_sum_exp = floats(out[1].values),
                                 .means = float_room(180),
                                 .dq = room_for(wide, dtype),
                                 .dk = room_for(narrow, dtype),
                                 .dv = room_for(narrow, dtype)};
      launch_causal_attention_backward(handle(), shape, to);
      near(to.dq, gradients[0], dtype, "dq");
      near(to.dk, gradients[1], dtype, "dk");
      near(to.dv, gradients[2], dtype, "dv");
    }
}

TEST_CASE_METHOD(GpuFixture, "cached attention of large heads that share keys and values") {
  for (const auto dtype : {DType::f32, DType::bf16})
    for (const std::int64_t dim : {80, 128}) {
      INFO(to_string(dtype) << ", heads of " << dim);
      const AttentionAttributes a{.sequence = 3, .heads = 2, .kv_heads = 1, .head_dim = dim};
      const Shape wide{6, 2 * dim}, narrow{6, dim}, cache{2 * 20, dim};
      std::vector<ReferenceTensor> in{normal(wide, 1, dtype),   normal(narrow, 2, dtype),
                                      normal(narrow, 3, dtype), normal(cache, 4),
                                      normal(cache, 5),         {{1}, {11}, DType::i32}};
      const CachedAttention on{
          .q = upload(in[0].values, dtype),
          .k = upload(in[1].values, dtype),
          .v = upload(in[2].values, dtype),
          .keys = floats(in[3].values),
          .values = floats(in[4].values),
          .first = static_cast<const std::int32_t*>(upload(in[5].values, DType::i32)),
          .places = 20,
          .y = room(static_cast<std::size_t>(wide.elements()), dtype)};
      std::vector<ReferenceTensor> out{{wide}};
      run_reference(Op::cached_attention, a, in, out); // also fills the caches
      launch_cached_attention(handle(), {a, dtype, 2, 2 * dim, dim}, on);
      require_near(download(on.y, out[0].values.size(), dtype), out[0].values,
                   dtype == DType::f32 ? 1e-5f : tolerance(dtype), "y");
      CHECK(download(on.keys, in[3].values.size()) == in[3].values);
      CHECK(download(on.values, in[4].values.size()) == in[4].values);
    }
}

TEST_CASE_METHOD(GpuFixture, "rows beyond a sequence's room") {
  const AttentionAttributes a{.sequence = 3, .heads = 1, .kv_heads = 1, .head_dim = 4};
  const Floats caches = normal_values(20, 1), rows = normal_values(12, 2);
  const CachedAttention on{.q = floats(rows),
                           .k = floats(rows),
                           .v = floats(rows),
                           .keys = floats(caches),
                           .values = floats(caches),
                           .first = static_cast<const std::int32_t*>(upload({3}, DType::i32)),
                           .places = 5,
                           .y = float_room(12)};
  launch_cached_attention(handle(), {a, DType::f32, 1, 4, 4}, on);
  const auto y = download(on.y, 12), keys = download(on.keys, 20);
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(std::isnan(y[i]) == (i >= 8)); // the third row
  CHECK(std::equal(keys.begin() + 12, keys.end(), rows.begin()));
  const PositionShape shape{.elements = 12, .sequences = 1, .table_elements = 20, .columns = 4};
  auto* const sums = float_room(12);
  launch_position_embedding(handle(), shape, floats(rows), floats(caches), on.first, sums);
  const auto positions = download(sums, 12);
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(std::isnan(positions[i]) == (i >= 8));
}

// 7 classes are not a whole number of packs; with 20,000 each thread reads several packs.
TEST_CASE_METHOD(GpuFixture, "gradients overwrite the logits, and losses are computed with them") {
  for (const auto dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t classes : {7, 20'000}) {
      INFO(to_string(dtype) << ", " << classes << " classes");
      const LossAttributes a{.label_smoothing = 0.1f, .gradient = true};
      const auto elements = static_cast<std::size_t>(3 * classes);
      std::vector<ReferenceTensor> in{normal({3, classes}, 1, dtype),
                                      {{3}, {2, -1, 6}, DType::i32}},
          out{{{}}, {{3, classes}}, {{}}};
      run_reference(Op::softmax_cross_entropy, a, in, out);
      auto* const factor = floats({0.5f}); // two labels count
      const auto rows_at = [&](void* logits) {
        return LogitRows{.logits = logits,
                         .dtype = dtype,
                         .labels = static_cast<std::int32_t*>(upload(in[1].values, DType::i32)),
                         .rows = 3,
                         .classes = static_cast<int>(classes),
                         .smoothing = a.label_smoothing};
      };
      auto *const together = upload(in[0].values, dtype), *const separate =
                                                              upload(in[0].values, dtype);
      auto *const losses = float_room(3), *const same_losses = float_room(3),
                  *const totals = float_room(3);
      launch_logit_gradients(handle(), rows_at(together), nullptr, factor, losses);
      launch_row_losses(handle(), rows_at(separate), totals, same_losses);
      launch_logit_gradients(handle(), rows_at(separate), totals, factor, nullptr);
      const auto dlogits = download(together, elements, dtype);
      require_near(dlogits, out[1].values, tolerance(dtype), "dlogits");
      CHECK(download(separate, elements, dtype) == dlogits);
      const auto each = download(losses, 3);
      CHECK(download(same_losses, 3) == each);
      CHECK(each[1] == 0);
      require_near({(each[0] + each[2]) / 2}, out[0].values, 1e-5f, "loss");
    }
}

TEST_CASE_METHOD(GpuFixture, "losses of rows with a label outside of the classes are NaN") {
  const LogitRows rows{.logits = floats({1, 2, 3, 1, 2, 3, 1, 2, 3}),
                       .dtype = DType::f32,
                       .labels = static_cast<std::int32_t*>(upload({2, -1, 3}, DType::i32)),
                       .rows = 3,
                       .classes = 3};
  auto *const totals = float_room(3), *const losses = float_room(3);
  launch_row_losses(handle(), rows, totals, losses);
  const float total = std::log(std::exp(1.0f) + std::exp(2.0f) + std::exp(3.0f));
  require_near(download(totals, 3), {total, total, total}, 1e-6f, "log_sum_exp");
  const auto got = download(losses, 3);
  CHECK(std::abs(got[0] - (total - 3)) < 1e-5f);
  CHECK(got[1] == 0);
  CHECK(std::isnan(got[2]));
}
