// Tests the operation graphs of attention, and which nodes have one.
#include "bench/gpu/attention_problems.hpp"
#include "gpu/lowering/attention_graph.hpp"
#include "tests/gpu/attention_graph.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

using namespace troupe;
using namespace troupe::gpu::cudnn;
namespace uid = troupe::gpu::cudnn::uid;

namespace {

const AttentionProblem shared_heads =
    bench::attention_problem(2, 4, 2, 32, 16, true, CUDNN_DATA_BFLOAT16);

std::set<Uid> bound_uids(const OperationGraph& graph) {
  std::set<Uid> uids;
  for (const auto& tensor : graph.tensors)
    if (tensor.is_bound())
      uids.insert(tensor.uid);
  return uids;
}

bool has_graph(DType type, std::int64_t sequence, std::int64_t head_dim) {
  const auto graph = testing::attention_graph(type, sequence, head_dim);
  return gpu::attention_graph(graph, graph.nodes[0], {}).has_value();
}

} // namespace

TEST_CASE("graphs of attention read and write the tensors they document") {
  CHECK(bound_uids(attention_forward(shared_heads)) == std::set{uid::attention_q, uid::attention_k,
                                                                uid::attention_v, uid::attention_y,
                                                                uid::attention_log_sum_exp});
  const std::set all{uid::attention_q,  uid::attention_k,           uid::attention_v,
                     uid::attention_y,  uid::attention_log_sum_exp, uid::attention_dy,
                     uid::attention_dq, uid::attention_dk,          uid::attention_dv};
  CHECK(bound_uids(attention_backward(shared_heads, false)) == all);
  CHECK(bound_uids(attention_backward(shared_heads, true)) == all);
}

TEST_CASE("q, k and v of one tensor have its rows, and keys are transposed") {
  const auto graph = attention_forward(shared_heads);
  const auto& q = *graph.find(uid::attention_q);
  CHECK(q.dims == Dims{2, 4, 32, 16});
  CHECK(q.layout() == Dims{32 * 128, 16, 128, 1});
  CHECK(q.bytes() == 2 * (63 * 128 + 64));
  const auto& k = *graph.find(uid::attention_k);
  CHECK(k.dims == Dims{2, 2, 16, 32});
  CHECK(k.layout() == Dims{32 * 128, 16, 1, 128});
  CHECK(graph.find(uid::attention_y)->layout() == Dims{32 * 64, 16, 64, 1});
  CHECK(graph.find(uid::attention_log_sum_exp)->layout() == Dims{4 * 32, 32, 1, 1});
}

TEST_CASE("only a deterministic backward pass lacks scratch memory for dq") {
  const auto bytes = [](const OperationGraph& graph) { return OwnTensors{graph}.scratch_bytes(); };
  const std::size_t means = 4 * 2 * 4 * 32, sums = means * 16;
  CHECK(bytes(attention_forward(shared_heads)) == 0);
  CHECK(bytes(attention_backward(shared_heads, true)) == means);
  CHECK(bytes(attention_backward(shared_heads, false)) == means + sums);
}

TEST_CASE("a plan binds its constants and scratch tensors itself") {
  const auto graph = attention_backward(shared_heads, false);
  const OwnTensors own{graph};
  std::vector<std::byte> scratch(own.scratch_bytes());
  std::vector<Binding> bindings;
  own.bind(bindings, scratch.data());
  std::set<Uid> uids;
  bool has_scale = false;
  for (const auto& binding : bindings) {
    uids.insert(binding.uid);
    const auto& tensor = *graph.find(binding.uid);
    if (tensor.value)
      CHECK(*static_cast<const float*>(binding.data) == *tensor.value);
    has_scale = has_scale || tensor.value == shared_heads.scale;
  }
  CHECK(has_scale);
  for (const auto& tensor : graph.tensors)
    CHECK(uids.contains(tensor.uid) == (!tensor.is_bound() && !tensor.is_virtual));
}

TEST_CASE("the canonical text of attention differs whenever the plans must differ") {
  std::set<std::string> texts;
  const auto add = [&texts](const OperationGraph& graph) { texts.insert(graph.canonical_text()); };
  add(attention_forward(shared_heads));
  add(attention_backward(shared_heads, false));
  add(attention_backward(shared_heads, true));
  auto other = shared_heads;
  other.scale = 0.5f;
  add(attention_forward(other));
  other = shared_heads;
  other.q_distance = 64;
  add(attention_forward(other));
  other = shared_heads;
  other.kv_heads = 4;
  add(attention_forward(other));
  other = shared_heads;
  other.type = CUDNN_DATA_HALF;
  add(attention_forward(other));
  CHECK(texts.size() == 7);
  CHECK(texts.contains(attention_forward(shared_heads).canonical_text()));
}

TEST_CASE("a plan of attention moves each tensor once and computes the causal half") {
  const double pairs = 2.0 * 4 * 32 * 32; // batch, heads, queries, keys
  const double q = 2 * 2 * 4 * 32 * 16, kv = q, log_sum_exp = 4 * 2 * 4 * 32; // k and v: half each
  const auto forward = traffic_of(attention_forward(shared_heads));
  CHECK(forward.read == q + kv);
  CHECK(forward.written == q + log_sum_exp);
  CHECK(forward.operations == 2 * pairs * 16);
  CHECK(forward.launches == 1);
  CHECK(attention_forward(shared_heads).is_attention());
  for (const bool deterministic : {false, true}) {
    const auto backward = traffic_of(attention_backward(shared_heads, deterministic));
    CHECK(backward.read == 3 * q + kv + log_sum_exp);
    CHECK(backward.written == q + kv);
    CHECK(backward.operations == 5 * pairs * 16);
  }
}

TEST_CASE("only attention in 16 bits, with aligned heads that are not too large, has a graph") {
  CHECK(has_graph(DType::f16, 32, 64));
  CHECK(has_graph(DType::bf16, 32, 80));
  CHECK_FALSE(has_graph(DType::f32, 32, 64));
  CHECK_FALSE(has_graph(DType::bf16, 32, 20));
  CHECK_FALSE(has_graph(DType::bf16, 32, 136));
  CHECK_FALSE(has_graph(DType::bf16, 1, 64));
}
