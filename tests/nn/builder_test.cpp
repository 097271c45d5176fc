#include "nn/builder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::nn;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string message_of(GraphBuilder builder) {
  const auto graph = std::move(builder).finish();
  REQUIRE_FALSE(graph.has_value());
  return graph.error().message;
}

} // namespace

TEST_CASE("convolutions and pools have PyTorch's output sizes") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = b.input("x", {2, 15, 16, 3});
  CHECK(b.shape(b.conv2d("a", x, 8, {3, 1, 1})) == Shape{2, 15, 16, 8});
  CHECK(b.shape(b.conv2d("b", x, 8, {3, 2, 1})) == Shape{2, 8, 8, 8});
  CHECK(b.shape(b.conv2d("c", x, 8, {7, 2, 3})) == Shape{2, 8, 8, 8});
  CHECK(b.shape(b.max_pool("d", x, {3, 3, 2, 1})) == Shape{2, 8, 8, 3});
  CHECK(b.shape(b.avg_pool("e", x, {2, 2, 2, 0})) == Shape{2, 7, 8, 3});
  CHECK(b.shape(b.global_avg_pool("f", x)) == Shape{2, 1, 1, 3});
  CHECK(b.shape(b.subsample_pad("g", x, {2, 1, 2})) == Shape{2, 8, 8, 6});
  CHECK(b.shape(b.flatten("h", x)) == Shape{2, 720});
  CHECK(std::move(b).finish().has_value());
}

TEST_CASE("layer_norm has PyTorch's parameters and starts as plain normalization") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = b.input("x", {2, 3, 5});
  const auto y = b.layer_norm("ln", x, {.eps = 1e-3f});
  CHECK(b.shape(b.gelu("gelu", y, {.tanh = true})) == Shape{2, 3, 5});
  const auto graph = std::move(b).finish();
  REQUIRE(graph.has_value());
  const auto tensor = [&](const char* name) { return (*graph)[graph->find(name).value()]; };
  CHECK(tensor("ln.weight").shape == Shape{5});
  CHECK(tensor("ln.weight").initial.value == 1);
  CHECK(tensor("ln.bias").initial.value == 0);
  CHECK(tensor("ln.saved_mean").shape == Shape{6});
  CHECK(tensor("ln.saved_inv_std").dtype == DType::f32);
  CHECK(std::get<LayerNormAttributes>(graph->nodes[0].attributes).eps == 1e-3f);
  CHECK(std::get<GeluAttributes>(graph->nodes[1].attributes).tanh);
}

TEST_CASE("an image that is too small is an error that names the layer") {
  GraphBuilder b;
  b.begin_unit("unit");
  b.conv2d("layer1.conv", b.input("x", {2, 4, 4, 3}), 8, {7, 1, 0});
  const auto message = message_of(std::move(b));
  CHECK_THAT(message, ContainsSubstring("layer1.conv: conv2d: an image of 2x4x4x3 is too small"));
}

TEST_CASE("the first error is reported") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = b.input("x", {2, 4, 4, 3});
  const auto wrong = b.linear("fc", x, 10);
  b.relu("later", b.batch_norm("bn", b.global_avg_pool("pool", wrong), true));
  CHECK_THAT(message_of(std::move(b)),
             ContainsSubstring("fc.product: matmul: x (N, in) must have"));
}

TEST_CASE("tensors that are added must have equal shapes") {
  GraphBuilder b;
  b.begin_unit("unit");
  const auto x = b.input("x", {2, 4, 4, 3});
  b.add("sum", x, b.conv2d("conv", x, 4, {3, 1, 1}));
  CHECK_THAT(message_of(std::move(b)),
             ContainsSubstring("sum: add: b must be f32 2x4x4x3, is f32 2x4x4x4"));
}

TEST_CASE("labels must be one integer per row") {
  GraphBuilder b;
  b.begin_unit("unit");
  b.softmax_cross_entropy("loss", b.input("x", {2, 3}), b.target("labels", {2}, DType::f32), 0);
  CHECK_THAT(message_of(std::move(b)), ContainsSubstring("labels must be i32 2, is f32 2"));
}

TEST_CASE("names are unique") {
  GraphBuilder b;
  b.begin_unit("unit");
  b.relu("x", b.input("x", {2, 3}));
  CHECK_THAT(message_of(std::move(b)), ContainsSubstring("two tensors have the name \"x\""));
}
