// Compares cuDNN's engines of attention with the interpreter, and with the project's kernels.
#include "tests/gpu/attention_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_launches() __attribute__((weak));

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::gpu::cudnn;
using namespace troupe::testing;

namespace {

/// Every size of heads occurs in both types and layouts, and with and without shared keys. Lengths
/// of 37 and 100 are no multiple of a tile.
const std::vector<AttentionCase> attention_cases{
    {48, 2, 2, 37, true, DType::f16},    {48, 8, 2, 100, false, DType::bf16},
    {64, 2, 2, 128, true, DType::bf16},  {64, 8, 2, 37, false, DType::f16},
    {64, 8, 2, 128, true, DType::bf16},  {80, 2, 2, 100, false, DType::f16},
    {80, 8, 2, 37, true, DType::bf16},   {96, 8, 2, 37, true, DType::f16},
    {96, 2, 2, 37, false, DType::bf16},  {128, 2, 2, 100, true, DType::bf16},
    {128, 8, 2, 128, false, DType::f16}, {64, 4, 1, 37, true, DType::bf16},
};

// Engines round probabilities, the gradients of scores and those of shared heads before they sum
// them, and results once more: half an epsilon of a value each, of which sums average most out.
void require_near_forward(const AttentionCase& shape, const Floats& y, const Floats& log_sum_exp,
                          const AttentionReference& reference) {
  require_near(y, reference.y, tolerance(shape.dtype), "y");
  require_near(log_sum_exp, reference.log_sum_exp, tolerance(DType::f32), "log_sum_exp");
}

void require_near_gradients(const AttentionCase& shape, const HeadValues& got,
                            const AttentionReference& reference) {
  const auto relative = tolerance(shape.dtype);
  require_near(got.q, reference.gradients.q, relative, "dq");
  require_near(got.k, reference.gradients.k, relative, "dk");
  require_near(got.v, reference.gradients.v, relative, "dv");
}

Attention kernel_arguments(const AttentionFixture::Heads& heads,
                           const AttentionFixture::Forward& results) {
  return {heads.q, heads.k, heads.v, results.y, results.log_sum_exp};
}

} // namespace

TEST_CASE_METHOD(AttentionFixture, "every engine's attention forward matches the interpreter") {
  for (const auto& shape : attention_cases) {
    INFO(shape.to_string());
    const auto reference = attention_reference(shape);
    const auto heads = upload_heads(shape, reference.inputs);
    for (const auto& plan : plans(attention_forward(shape.problem()))) {
      INFO(plan.tag());
      const auto results = room_for_forward(shape);
      REQUIRE(run(plan, heads, results));
      require_near_forward(shape, download(results.y, reference.y.size(), shape.dtype),
                           download(results.log_sum_exp, reference.log_sum_exp.size()), reference);
    }
  }
}

TEST_CASE_METHOD(AttentionFixture, "every engine's attention backward matches the interpreter") {
  for (const auto& shape : attention_cases)
    for (const bool deterministic : {false, true}) {
      INFO(shape.to_string() << (deterministic ? ", deterministic" : ""));
      const auto reference = attention_reference(shape);
      const auto heads = upload_heads(shape, reference.inputs);
      const Forward saved{upload(reference.y, shape.dtype), floats(reference.log_sum_exp)};
      auto* const dy = upload(reference.dy, shape.dtype);
      for (const auto& plan :
           plans(attention_backward(shape.problem(), deterministic), deterministic)) {
        INFO(plan.tag());
        const auto gradients = room_for_heads(shape);
        REQUIRE(run_backward(plan, heads, saved, dy, gradients));
        require_near_gradients(shape, download_heads(shape, gradients), reference);
      }
    }
}

TEST_CASE_METHOD(AttentionFixture,
                 "kernels and cuDNN can compute backward of each other's forward") {
  for (const auto& shape : {AttentionCase{64, 2, 2, 100, true, DType::bf16},
                            AttentionCase{48, 8, 2, 37, false, DType::f16}}) {
    INFO(shape.to_string());
    const auto reference = attention_reference(shape);
    const auto heads = upload_heads(shape, reference.inputs);
    auto* const dy = upload(reference.dy, shape.dtype);

    const auto of_kernel = room_for_forward(shape), of_engine = room_for_forward(shape);
    launch_causal_attention(handle(), shape.shape(), kernel_arguments(heads, of_kernel));
    REQUIRE(run(plans(attention_forward(shape.problem())).front(), heads, of_engine));

    const auto by_engine = room_for_heads(shape), by_kernel = room_for_heads(shape);
    const auto backward = plans(attention_backward(shape.problem(), false));
    REQUIRE(run_backward(backward.front(), heads, of_kernel, dy, by_engine));
    launch_causal_attention_backward(handle(), shape.shape(),
                                     {.dy = dy,
                                      .q = heads.q,
                                      .k = heads.k,
                                      .v = heads.v,
                                      .y = of_engine.y,
                                      .log_sum_exp = of_engine.log_sum_exp,
                                      .means = float_room(reference.log_sum_exp.size()),
                                      .dq = by_kernel.q,
                                      .dk = by_kernel.k,
                                      .dv = by_kernel.v});
    require_near_gradients(shape, download_heads(shape, by_engine), reference);
    require_near_gradients(shape, download_heads(shape, by_kernel), reference);
  }
}

TEST_CASE_METHOD(AttentionFixture,
                 "no engine computes attention of f32, or of heads of 20 elements") {
  for (const auto& shape : {AttentionCase{64, 2, 2, 64, false, DType::f32},
                            AttentionCase{20, 2, 2, 64, false, DType::bf16}})
    for (const auto& graph :
         {attention_forward(shape.problem()), attention_backward(shape.problem(), false)}) {
      INFO(graph.name);
      const auto found = find_plans(target(), graph, {});
      REQUIRE_FALSE(found);
      CHECK(found.error().code == Errc::unsupported);
    }
}

TEST_CASE_METHOD(AttentionFixture, "gradients that share an element are refused") {
  if (!troupe_emulated_launches)
    SKIP("the emulated cuDNN compares addresses");
  const AttentionCase shape{64, 2, 2, 37, true, DType::bf16};
  const auto reference = attention_reference(shape);
  const auto heads = upload_heads(shape, reference.inputs);
  const Forward saved{upload(reference.y, shape.dtype), floats(reference.log_sum_exp)};
  const auto apart = room_for_heads(shape);
  const Heads together{apart.q, static_cast<std::byte*>(apart.k) - 16, apart.v};
  const auto plan = plans(attention_backward(shape.problem(), false));
  const auto status =
      run_backward(plan.front(), heads, saved, upload(reference.dy, shape.dtype), together);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::Matchers::ContainsSubstring("is written over"));
}

// Before version 9.26, the engines would read them as if they had no gaps.
TEST_CASE_METHOD(AttentionFixture, "no backward engine takes statistics with gaps") {
  if (!troupe_emulated_launches)
    SKIP("the emulated cuDNN knows which versions read them");
  const AttentionCase shape{64, 2, 2, 37, true, DType::bf16};
  auto graph = attention_backward(shape.problem(), false);
  const auto statistics =
      std::ranges::find(graph.tensors, uid::attention_log_sum_exp, &TensorSpec::uid);
  REQUIRE(statistics != graph.tensors.end());
  statistics->strides = Dims{shape.sequence * shape.heads, 1, shape.heads, 1};
  const auto found = find_plans(target(), graph, {});
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::unsupported);
}
