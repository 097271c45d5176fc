#include "tests/gpu/attention_fixture.hpp"

#include "gpu/alignment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::testing {

using namespace gpu;
using namespace gpu::cudnn;

namespace {

std::size_t head_elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows * columns);
}

/// Returns rows that consist of a row of each tensor.
Floats side_by_side(const AttentionCase& shape, const HeadValues& values) {
  Floats all;
  const auto add = [&](const Floats& from, std::int64_t row, std::int64_t columns) {
    const auto begin = from.begin() + row * columns;
    all.insert(all.end(), begin, begin + columns);
  };
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    add(values.q, row, shape.columns());
    add(values.k, row, shape.kv_columns());
    add(values.v, row, shape.kv_columns());
  }
  return all;
}

Floats columns_of(const Floats& all, std::int64_t distance, std::int64_t first,
                  std::int64_t columns) {
  Floats part;
  for (auto row = all.begin(); row != all.end(); row += distance)
    part.insert(part.end(), row + first, row + first + columns);
  return part;
}

} // namespace

AttentionProblem AttentionCase::problem() const {
  return {.batch = sequences,
          .heads = heads,
          .kv_heads = kv_heads,
          .sequence = sequence,
          .head_dim = head_dim,
          .q_distance = q_distance(),
          .kv_distance = kv_distance(),
          .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
          .type = dtype == DType::bf16  ? CUDNN_DATA_BFLOAT16
                  : dtype == DType::f16 ? CUDNN_DATA_HALF
                                        : CUDNN_DATA_FLOAT};
}

AttentionShape AttentionCase::shape() const {
  return {attributes(), dtype, sequences, q_distance(), kv_distance()};
}

std::string AttentionCase::to_string() const {
  return fmt::format("{}, {}, {}", problem().to_string(), troupe::to_string(dtype),
                     packed ? "one tensor" : "three tensors");
}

AttentionReference attention_reference(const AttentionCase& shape) {
  const Shape wide{shape.rows(), shape.columns()}, narrow{shape.rows(), shape.kv_columns()};
  const auto normal = [&](const Shape& of, std::uint64_t stream) {
    return normal_values(static_cast<std::size_t>(of.elements()), stream, shape.dtype);
  };
  AttentionReference all{
      {normal(wide, 1), normal(narrow, 2), normal(narrow, 3)}, normal(wide, 4), {}, {}, {}};
  std::vector<ReferenceTensor> in{
      {wide, all.inputs.q}, {narrow, all.inputs.k}, {narrow, all.inputs.v}};
  std::vector<ReferenceTensor> out{{wide}, {{shape.sequences * shape.heads, shape.sequence}}};
  run_reference(Op::causal_attention, shape.attributes(), in, out);
  all.y = rounded(out[0].values, shape.dtype);
  all.log_sum_exp = out[1].values;
  std::vector<ReferenceTensor> back{{wide, all.dy}, in[0], in[1], in[2], {wide, all.y}, out[1]};
  std::vector<ReferenceTensor> gradients{{wide}, {narrow}, {narrow}};
  run_reference(Op::causal_attention_backward, shape.attributes(), back, gradients);
  all.gradients = {gradients[0].values, gradients[1].values, gradients[2].values};
  return all;
}

AttentionFixture::AttentionFixture() {
  const auto library = open_cudnn(library_places_of_process());
  if (!library)
    SKIP(library.error().message);
  auto target = Target::of_device(*library, 0);
  if (!target)
    FAIL(target.error().message);
  target_ = std::move(*target);
  REQUIRE(target_->use_stream(handle()));
}

AttentionFixture::Heads AttentionFixture::upload_heads(const AttentionCase& shape,
                                                       const HeadValues& values) {
  const auto dtype = shape.dtype;
  if (!shape.packed)
    return {upload(values.q, dtype), upload(values.k, dtype), upload(values.v, dtype)};
  auto* const q = static_cast<std::byte*>(upload(side_by_side(shape, values), dtype));
  auto* const k = q + head_elements(1, shape.columns()) * size_of(dtype);
  return {q, k, k + head_elements(1, shape.kv_columns()) * size_of(dtype)};
}

AttentionFixture::Heads AttentionFixture::room_for_heads(const AttentionCase& shape) {
  const Floats narrow(head_elements(shape.rows(), shape.kv_columns()), 1.0f);
  return upload_heads(shape,
                      {Floats(head_elements(shape.rows(), shape.columns()), 1.0f), narrow, narrow});
}

HeadValues AttentionFixture::download_heads(const AttentionCase& shape, const Heads& heads) {
  const auto read = [&](const void* from, std::int64_t columns) {
    return download(from, head_elements(shape.rows(), columns), shape.dtype);
  };
  const auto wide = shape.columns(), narrow = shape.kv_columns();
  if (!shape.packed)
    return {read(heads.q, wide), read(heads.k, narrow), read(heads.v, narrow)};
  const auto distance = shape.q_distance();
  const auto all = read(heads.q, distance);
  return {columns_of(all, distance, 0, wide), columns_of(all, distance, wide, narrow),
          columns_of(all, distance, wide + narrow, narrow)};
}

AttentionFixture::Forward AttentionFixture::room_for_forward(const AttentionCase& shape) {
  return {room(head_elements(shape.rows(), shape.columns()), shape.dtype),
          float_room(head_elements(shape.rows(), shape.heads))};
}

std::vector<Plan> AttentionFixture::plans(const OperationGraph& graph, bool deterministic) {
  auto found = find_plans(*target_, graph, {.deterministic = deterministic, .candidates = 8});
  if (!found && target_->sm() < 90)
    SKIP(found.error().message);
  INFO(graph.name << ": " << (found ? "" : found.error().message));
  REQUIRE(found);
  return std::move(*found);
}

Status AttentionFixture::execute(const Plan& plan,
                                 const std::vector<gpu::cudnn::Binding>& bindings) {
  void* workspace = nullptr;
  if (plan.workspace_bytes() > 0)
    workspace = room(plan.workspace_bytes(), DType::u8);
  return plan.execute(*target_, bindings, workspace);
}

Status AttentionFixture::run(const Plan& plan, const Heads& heads, const Forward& results) {
  return execute(plan, {{uid::attention_q, heads.q},
                        {uid::attention_k, heads.k},
                        {uid::attention_v, heads.v},
                        {uid::attention_y, results.y},
                        {uid::attention_log_sum_exp, results.log_sum_exp}});
}

Status AttentionFixture::run_backward(const Plan& plan, const Heads& heads, const Forward& results,
                                      void* dy, const Heads& gradients) {
  return execute(plan, {{uid::attention_q, heads.q},
                        {uid::attention_k, heads.k},
                        {uid::attention_v, heads.v},
                        {uid::attention_y, results.y},
                        {uid::attention_log_sum_exp, results.log_sum_exp},
                        {uid::attention_dy, dy},
                        {uid::attention_dq, gradients.q},
                        {uid::attention_dk, gradients.k},
                        {uid::attention_dv, gradients.v}});
}

} // namespace troupe::testing
