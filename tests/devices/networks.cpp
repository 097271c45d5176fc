#include "tests/devices/networks.hpp"

#include "nn/builder.hpp"

#include <catch2/catch_test_macros.hpp>

namespace troupe::testing {

namespace {

struct Block {
  std::string name;
  std::int64_t width, stride;
  bool shortcut;
};

TensorId convolution(nn::GraphBuilder& b, const std::string& name, TensorId x, std::int64_t out,
                     const Conv2dAttributes& attributes) {
  return b.batch_norm(name + ".bn", b.conv2d(name, x, out, attributes), true);
}

TensorId bottleneck(nn::GraphBuilder& b, const Block& block, TensorId x) {
  const auto& [name, width, stride, shortcut] = block;
  const auto residual = shortcut ? convolution(b, name + ".down", x, 4 * width, {1, stride, 0}) : x;
  auto y = b.relu(name + ".relu1", convolution(b, name + ".conv1", x, width, {1, 1, 0}));
  y = b.relu(name + ".relu2", convolution(b, name + ".conv2", y, width, {3, stride, 1}));
  y = convolution(b, name + ".conv3", y, 4 * width, {1, 1, 0});
  return b.relu(name + ".relu", b.add(name + ".add", y, residual));
}

} // namespace

Graph bottleneck_network(const Shape& images, std::int64_t width) {
  nn::GraphBuilder b;
  b.begin_unit("stem");
  auto x = b.input("images", images);
  const auto labels = b.target("labels", {images[0]}, DType::i32);
  x = b.relu("relu", convolution(b, "conv", x, width, {7, 2, 3}));
  x = b.max_pool("pool", x, {.kernel_h = 3, .kernel_w = 3, .stride = 2, .padding = 1});
  for (const auto& block : {Block{"a", width, 1, true}, Block{"b", width, 1, false},
                            Block{"c", 2 * width, 2, true}, Block{"d", 2 * width, 1, false}}) {
    b.begin_unit(block.name);
    x = bottleneck(b, block, x);
  }
  b.begin_unit("head");
  const auto logits = b.linear("fc", b.flatten("flat", b.global_avg_pool("average", x)), 10);
  b.softmax_cross_entropy("loss", logits, labels, 0.1f);
  b.count_correct("correct", logits, labels);
  auto graph = std::move(b).finish();
  if (!graph)
    FAIL(graph.error().to_string());
  return std::move(*graph);
}

} // namespace troupe::testing
