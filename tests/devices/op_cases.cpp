#include "tests/devices/op_cases.hpp"

#include "core/device/dropout_math.hpp"
#include "nn/builder.hpp"

#include <catch2/catch_test_macros.hpp>

namespace troupe::testing {

namespace {

nn::PreparedModel prepare(nn::GraphBuilder builder, const nn::PassOptions& passes,
                          nn::PassMode pass_mode) {
  auto graph = std::move(builder).finish();
  if (!graph)
    FAIL(graph.error().to_string());
  auto prepared = nn::run_passes(*graph, pass_mode, passes);
  if (!prepared)
    FAIL(prepared.error().to_string());
  return std::move(*prepared);
}

} // namespace

nn::PreparedModel make_model(const Shape& images, const Body& body, const nn::PassOptions& passes,
                             nn::PassMode pass_mode) {
  nn::GraphBuilder builder;
  builder.begin_unit("body");
  auto x = builder.input("images", images);
  const auto labels = builder.target("labels", {images[0]}, DType::i32);
  x = body(builder, x);
  builder.begin_unit("head");
  const auto flat = builder.shape(x).rank() == 2 ? x : builder.flatten("flat", x);
  const auto logits = builder.linear("fc", flat, 3);
  builder.softmax_cross_entropy("loss", logits, labels, 0.1f);
  builder.count_correct("correct", logits, labels);
  return prepare(std::move(builder), passes, pass_mode);
}

nn::PreparedModel squared_error(DType target, const nn::PassOptions& passes) {
  nn::GraphBuilder builder;
  builder.begin_unit("all");
  const auto x = builder.input("images", {5, 2, 2, 2});
  const auto y = builder.linear("fc", builder.flatten("flat", x), 4);
  const auto t = target == DType::i32 ? builder.target("labels", {5}, target)
                                      : builder.target("values", {5, 4}, target);
  builder.mean_squared_error("loss", y, t);
  return prepare(std::move(builder), passes, nn::PassMode::training);
}

namespace {

TensorId rms_norm(nn::GraphBuilder& b, const std::string& name, TensorId x) {
  const Shape columns{b.shape(x).dims.back()};
  return b.apply(Op::rms_norm, name,
                 {x, b.parameter(name + ".weight", columns, Initial::constant(1))},
                 RmsNormAttributes{}, {"saved_inv_rms"});
}

TensorId product(nn::GraphBuilder& b, const std::string& name, TensorId x, std::int64_t out) {
  return b.linear(name, x, out, {.bias = false});
}

TensorId rotary_block(nn::GraphBuilder& b, TensorId x, std::int64_t sequence) {
  b.begin_unit("rotary");
  const AttentionAttributes a{sequence, 4, 2, 6};
  const auto in = rms_norm(b, "norm1", x);
  const auto q = b.apply(Op::rope, "q.turned", {product(b, "q", in, 24)},
                         RopeAttributes{sequence, 4, 6, 100.0f});
  const auto k = b.apply(Op::rope, "k.turned", {product(b, "k", in, 12)},
                         RopeAttributes{sequence, 2, 6, 100.0f});
  const auto y = b.apply(Op::causal_attention, "attention", {q, k, product(b, "v", in, 12)}, a,
                         {"log_sum_exp"});
  x = b.add("add1", x, product(b, "o", y, 20));
  const auto mid = rms_norm(b, "norm2", x);
  const auto hidden =
      b.apply(Op::swiglu, "swiglu", {product(b, "gate", mid, 28), product(b, "up", mid, 28)});
  return b.add("add2", x, product(b, "down", hidden, 20));
}

TensorId packed_block(nn::GraphBuilder& b, TensorId x, std::int64_t sequence) {
  b.begin_unit("packed");
  const auto qkv = b.linear("qkv", b.layer_norm("ln", x), 60);
  const auto y = b.apply(Op::causal_attention, "packed", {qkv},
                         AttentionAttributes{sequence, 1, 1, 20}, {"log_sum_exp"});
  return b.add("add3", x, b.gelu("gelu", b.linear("proj", y, 20), {.tanh = true}));
}

nn::GraphBuilder language_builder(std::int64_t sequence, nn::PassMode pass_mode) {
  nn::GraphBuilder b;
  b.begin_unit("embedding");
  const auto tokens = b.input("tokens", {2, sequence}, DType::i32);
  const auto labels = b.target("labels", {2, sequence}, DType::i32);
  const auto table = b.parameter("wte.weight", {11, 20}, Initial::normal(0.02));
  const auto shared = b.apply(Op::share, "wte.shared", {table});
  auto x = b.apply(Op::embedding, "wte", {tokens, table});
  x = b.apply(Op::position_embedding, "wpe",
              {x, b.parameter("wpe.weight", {sequence + 4, 20}, Initial::normal(0.02))},
              PositionAttributes{sequence});
  if (pass_mode == nn::PassMode::training)
    x = b.apply(Op::dropout, "dropout", {x, b.input("keys", {2, dropout_key_words}, DType::i32)},
                DropoutAttributes{.rate = 0.25f, .place = 1});
  x = packed_block(b, rotary_block(b, x, sequence), sequence);
  b.begin_unit("head");
  b.apply(Op::linear_cross_entropy, "loss", {rms_norm(b, "norm", x), shared, labels},
          LossAttributes{.label_smoothing = 0.1f}, {"log_sum_exp", "counted"});
  return b;
}

} // namespace

nn::PreparedModel language_model(std::int64_t sequence, const nn::PassOptions& passes) {
  return prepare(language_builder(sequence, nn::PassMode::training), passes,
                 nn::PassMode::training);
}

nn::PreparedModel generating_model(std::int64_t sequence, nn::PassOptions passes) {
  passes.cache = nn::CacheOptions{.places = sequence + 8};
  passes.memory.keep.emplace_back("logits");
  return prepare(language_builder(sequence, nn::PassMode::evaluation), passes,
                 nn::PassMode::evaluation);
}

Body two_convolutions(std::int64_t out, Conv2dAttributes attributes) {
  return [=](nn::GraphBuilder& b, TensorId x) {
    x = b.conv2d("conv1", x, out, attributes);
    return b.conv2d("conv2", x, out + 16, attributes);
  };
}

nn::PreparedModel OpCase::model(nn::PassOptions passes) const {
  passes.fuse = fuse;
  passes.recompute = recompute;
  return make_model(images, body, passes);
}

namespace {

OpCase convolutions(const Shape& images, std::int64_t out, Conv2dAttributes attributes) {
  return {images.to_string() + ", kernel " + std::to_string(attributes.kernel) + ", stride " +
              std::to_string(attributes.stride),
          images, two_convolutions(out, attributes)};
}

} // namespace

std::vector<OpCase> common_convolutions() {
  return {convolutions({4, 8, 8, 16}, 16, {3, 1, 1}), convolutions({4, 9, 9, 16}, 32, {3, 2, 1}),
          convolutions({3, 10, 7, 32}, 32, {3, 1, 1}), convolutions({2, 8, 8, 32}, 64, {1, 1, 0})};
}

std::vector<OpCase> odd_convolutions() {
  return {convolutions({4, 28, 28, 1}, 16, {3, 1, 1}), convolutions({2, 33, 31, 3}, 64, {7, 2, 3}),
          convolutions({1, 7, 5, 5}, 7, {3, 1, 1}),    convolutions({3, 8, 8, 24}, 20, {3, 2, 1}),
          convolutions({3, 7, 7, 17}, 9, {1, 2, 0}),   convolutions({5, 6, 6, 8}, 8, {1, 1, 0}),
          convolutions({2, 5, 5, 8}, 8, {1, 1, 1}),    convolutions({2, 9, 9, 8}, 8, {5, 3, 2})};
}

std::vector<OpCase> batch_norms() {
  std::vector<OpCase> cases;
  for (const std::int64_t channels : {1, 3, 16, 20, 96, 600}) {
    const Body body = [=](nn::GraphBuilder& b, TensorId x) {
      x = b.conv2d("conv1", x, channels, {1, 1, 0});
      const auto first = b.relu("relu1", b.batch_norm("bn1", x, true));
      const auto second = b.batch_norm("bn2", b.conv2d("conv2", first, channels, {1, 1, 0}), true);
      return b.batch_norm("bn3", b.relu("relu2", b.add("add", second, first)), true);
    };
    const auto name = std::to_string(channels) + " channels";
    cases.push_back({name, {4, 5, 7, 3}, body});
    cases.push_back({name + ", fused", {4, 5, 7, 3}, body, nn::FusePatterns::all()});
  }
  return cases;
}

std::vector<OpCase> recomputations() {
  const Body body = [](nn::GraphBuilder& b, TensorId x) {
    for (const std::string block : {"a", "b", "c"}) {
      b.begin_unit(block);
      for (const std::string layer : {".1", ".2"}) {
        x = b.conv2d(block + layer + ".conv", x, 20, {1, 1, 0});
        x = b.relu(block + layer + ".relu", b.batch_norm(block + layer + ".bn", x, true));
      }
    }
    return x;
  };
  const RecomputeConfig blocks{.kind = RecomputeConfig::Kind::block};
  return {{"made again", {4, 5, 7, 3}, body, nn::FusePatterns::none(), blocks},
          {"fused, made again", {4, 5, 7, 3}, body, nn::FusePatterns::all(), blocks}};
}

std::vector<OpCase> poolings() {
  std::vector<OpCase> cases;
  for (const auto& pool : {PoolAttributes{3, 3, 2, 1}, PoolAttributes{2, 2, 2, 0},
                           PoolAttributes{3, 2, 1, 1}, PoolAttributes{5, 4, 4, 0}})
    for (const std::int64_t channels : {1, 16, 70}) {
      const auto name = std::to_string(pool.kernel_h) + "x" + std::to_string(pool.kernel_w) +
                        " of " + std::to_string(channels) + " channels";
      cases.push_back({"maximum " + name, {2, 9, 8, 3}, [=](nn::GraphBuilder& b, TensorId x) {
                         return b.max_pool("max", b.conv2d("conv1", x, channels, {3, 1, 1}), pool);
                       }});
      cases.push_back({"average " + name, {2, 9, 8, 3}, [=](nn::GraphBuilder& b, TensorId x) {
                         return b.avg_pool("avg", b.conv2d("conv1", x, channels, {3, 1, 1}), pool);
                       }});
    }
  cases.push_back({"global average", {3, 7, 7, 3}, [](nn::GraphBuilder& b, TensorId x) {
                     return b.global_avg_pool("pool", b.conv2d("conv1", x, 32, {3, 1, 1}));
                   }});
  return cases;
}

std::vector<OpCase> shortcuts() {
  std::vector<OpCase> cases;
  for (const std::int64_t size : {8, 7})
    cases.push_back(
        {std::to_string(size) + " pixels", {2, size, size, 3}, [](nn::GraphBuilder& b, TensorId x) {
           const auto a = b.conv2d("conv1", x, 6, {3, 1, 1});
           const auto left = b.subsample_pad("shortcut", a, {2, 3, 2});
           const auto right = b.relu("relu", b.conv2d("conv2", a, 11, {3, 2, 1}));
           return b.relu("out", b.add("sum", left, right));
         }});
  return cases;
}

std::vector<OpCase> perceptrons() {
  const Body body = [](nn::GraphBuilder& b, TensorId x) {
    x = b.flatten("pixels", x);
    x = b.relu("relu1", b.linear("fc1", x, 40));
    return b.relu("relu2", b.linear("fc2", x, 17));
  };
  return {{"bias apart", {6, 5, 5, 1}, body},
          {"bias fused", {6, 5, 5, 1}, body, {.matmul_bias = true}},
          {"one sample", {1, 5, 5, 1}, body, {.matmul_bias = true}},
          {"one sample of many pixels", {1, 9, 9, 3}, body, {.matmul_bias = true}}};
}

std::vector<OpCase> activations() {
  std::vector<OpCase> cases;
  for (const bool tanh : {false, true})
    cases.push_back(
        {tanh ? "gelu by tanh" : "gelu", {2, 9, 7, 3}, [=](nn::GraphBuilder& b, TensorId x) {
           const GeluAttributes a{tanh};
           x = b.apply(Op::gelu, "gelu1", {b.conv2d("conv1", x, 17, {3, 1, 1})}, a);
           return b.apply(Op::gelu, "gelu2", {b.conv2d("conv2", x, 32, {3, 2, 1})}, a);
         }});
  return cases;
}

std::vector<OpCase> layer_norms() {
  const auto layer_norm = [](nn::GraphBuilder& b, const std::string& name, TensorId x, float eps) {
    const Shape columns{b.shape(x).dims.back()};
    return b.apply(Op::layer_norm, name,
                   {x, b.parameter(name + ".weight", columns, Initial::constant(1)),
                    b.parameter(name + ".bias", columns, Initial::constant(0))},
                   LayerNormAttributes{eps}, {"saved_mean", "saved_inv_std"});
  };
  std::vector<OpCase> cases;
  for (const std::int64_t columns : {7, 16, 100, 768})
    cases.push_back(
        {std::to_string(columns) + " columns", {3, 5, 4, 3}, [=](nn::GraphBuilder& b, TensorId x) {
           x = layer_norm(b, "ln1", b.conv2d("conv1", x, columns, {1, 1, 0}), 1e-5f);
           x = b.global_avg_pool("pool", b.relu("relu", x));
           return layer_norm(b, "ln2", b.linear("fc1", b.flatten("flat1", x), 33), 1e-2f);
         }});
  return cases;
}

std::vector<OpCase> all_op_cases() {
  std::vector<OpCase> all;
  for (const auto& cases :
       {common_convolutions(), odd_convolutions(), batch_norms(), recomputations(), poolings(),
        shortcuts(), perceptrons(), activations(), layer_norms()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

} // namespace troupe::testing
