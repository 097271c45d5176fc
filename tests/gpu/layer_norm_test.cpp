// Compares the kernels of layer norm and RMS norm with the interpreter, in every combination of
// types and additions, and language models with fused norms with the interpreter.
#include "gpu/kernels/layer_norm.hpp"

#include "gpu/alignment.hpp"
#include "tests/devices/compare.hpp"
#include "tests/devices/op_cases.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <algorithm>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

struct NormCase {
  std::int64_t rows, columns;
  DType x = DType::f32, y = DType::f32;
  std::optional<DType> other = std::nullopt; ///< of the addend; backward: of the narrow dx
  bool rms = false;
  std::size_t skew = 0; ///< elements from an aligned address

  LayerNormShape shape() const { return {rows, columns, x, y, other.value_or(DType::f32)}; }
  Shape tensor() const { return {rows, columns}; }
  std::string text() const {
    return fmt::format("{}x{}, x {}, y {}, other {}{}{}", rows, columns, to_string(x), to_string(y),
                       other ? to_string(*other) : "none", rms ? ", RMS" : "",
                       skew ? ", not aligned" : "");
  }
  Op op(Op layer, Op root) const { return rms ? root : layer; }
  Attributes attributes(const NormFusion& fusion) const {
    return rms ? Attributes{RmsNormAttributes{1e-6f, fusion}}
               : Attributes{LayerNormAttributes{1e-5f, fusion}};
  }
};

/// Rows of one warp, of several, of half-filled ones; of columns that are not whole packs; longer
/// than fast kernels support in backward, and in forward.
std::vector<NormCase> norm_cases() {
  std::vector<NormCase> all;
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{5, 8},
                                      {37, 768},
                                      {3, 1600},
                                      {2, 4104},
                                      {2, 8200},
                                      {1, 16392},
                                      {9, 33}})
    for (const bool rms : {false, true})
      all.push_back({rows, columns, DType::f32, DType::bf16, DType::bf16, rms});
  for (const auto x : {DType::f32, DType::f16, DType::bf16})
    for (const auto y : {DType::f32, DType::f16, DType::bf16})
      for (const auto other : {std::optional<DType>{}, {DType::f32}, {DType::f16}, {DType::bf16}})
        all.push_back({11, 96, x, y, other, other == DType::f32});
  all.push_back({7, 64, DType::f32, DType::bf16, DType::bf16, false, 1});
  return all;
}

struct Norms : GpuFixture {
  ReferenceTensor normal(const NormCase& c, std::uint64_t stream, DType dtype) const {
    return {c.tensor(), normal_values(c.tensor().count(), stream, dtype), dtype};
  }
  ReferenceTensor by_column(const NormCase& c, std::uint64_t stream) const {
    return {{c.columns}, normal_values(static_cast<std::size_t>(c.columns), stream)};
  }
  void* upload_all(const NormCase& c, const ReferenceTensor& tensor) {
    return upload(tensor.values, tensor.dtype, c.skew);
  }
  void* room_for(const NormCase& c, const ReferenceTensor& tensor) {
    return room(tensor.values.size(), tensor.dtype, c.skew);
  }
  void near(const void* got, const ReferenceTensor& expected, const char* what) {
    require_near(download(got, expected.values.size(), expected.dtype), expected.values,
                 expected.dtype == DType::f32 ? 2e-5f : tolerance(expected.dtype), what);
  }

  void check_forward(const NormCase& c) {
    std::vector<ReferenceTensor> in{normal(c, 1, c.x), by_column(c, 2)};
    std::vector<ReferenceTensor> out{{c.tensor(), {}, c.y}, {{c.rows}}};
    if (!c.rms) {
      in.push_back(by_column(c, 3));
      out.push_back({{c.rows}});
    }
    if (c.other) {
      in.push_back(normal(c, 4, *c.other));
      out.push_back({c.tensor(), {}, c.x});
    }
    run_reference(c.op(Op::layer_norm, Op::rms_norm),
                  c.attributes({.type = c.y, .add = c.other.has_value()}), in, out);
    const LayerNorm on{.x = upload_all(c, in[0]),
                       .addend = c.other ? upload_all(c, in.back()) : nullptr,
                       .sum = c.other ? room_for(c, out.back()) : nullptr,
                       .y = room_for(c, out[0]),
                       .scale = floats(in[1].values),
                       .shift = c.rms ? nullptr : floats(in[2].values),
                       .saved_mean = c.rms ? nullptr : float_room(out[1].values.size()),
                       .saved_inv_std = float_room(out[1].values.size()),
                       .eps = c.rms ? 1e-6f : 1e-5f};
    launch_layer_norm(handle(), c.shape(), on);
    near(on.y, out[0], "y");
    if (c.other)
      near(on.sum, out.back(), "sum");
    if (!c.rms)
      near(on.saved_mean, out[1], "mean");
    near(on.saved_inv_std, out[c.rms ? 1 : 2], "inv_std");
  }

  /// `other`: whether another part of the gradient is added, in place.
  void check_backward(const NormCase& c, bool other) {
    std::vector<ReferenceTensor> in{normal(c, 5, c.y), normal(c, 6, c.x), by_column(c, 7)};
    if (!c.rms)
      in.push_back({{c.rows}, normal_values(static_cast<std::size_t>(c.rows), 8)});
    auto inv_std = normal_values(static_cast<std::size_t>(c.rows), 9);
    std::ranges::transform(inv_std, inv_std.begin(), [](float v) { return 1 + 0.1f * v; });
    in.push_back({{c.rows}, inv_std});
    if (other)
      in.push_back(normal(c, 10, c.x));
    std::vector<ReferenceTensor> out{{c.tensor(), {}, c.x}, {{c.columns}}};
    if (!c.rms)
      out.push_back({{c.columns}});
    if (c.other)
      out.push_back({c.tensor(), {}, *c.other});
    run_reference(c.op(Op::layer_norm_backward, Op::rms_norm_backward),
                  c.attributes({.type = c.y, .add_gradient = other, .narrow = c.other.has_value()}),
                  in, out);
    auto* const dx = other ? upload_all(c, in.back()) : room_for(c, out[0]);
    const auto columns = static_cast<std::size_t>(c.columns);
    const LayerNormBackward on{.dy = upload_all(c, in[0]),
                               .x = upload_all(c, in[1]),
                               .other = other ? dx : nullptr,
                               .dx = dx,
                               .narrow = c.other ? room_for(c, out.back()) : nullptr,
                               .scale = floats(in[2].values),
                               .mean = c.rms ? nullptr : floats(in[3].values),
                               .inv_std = floats(inv_std),
                               .dscale = float_room(columns),
                               .dshift = c.rms ? nullptr : float_room(columns)};
    launch_layer_norm_backward(handle(), c.shape(), on, partials(c));
    near(on.dx, out[0], "dx");
    near(on.dscale, out[1], "dscale");
    if (!c.rms)
      near(on.dshift, out[2], "dshift");
    if (c.other)
      near(on.narrow, out.back(), "narrow dx");
  }

  float* partials(const NormCase& c) {
    return float_room(layer_norm_backward_bytes(c.shape()) / sizeof(float));
  }
};

bool sums_in_norm(const Node& node) {
  const auto* const fusion = norm_fusion(node.attributes);
  return fusion && (fusion->add || fusion->add_gradient);
}

nn::PreparedModel small_language_model(Precision precision, const nn::FusionSupport& support) {
  return language_model(5, {.fuse = nn::FusePatterns::all(),
                            .precision = precision,
                            .fuse_statistics = support,
                            .memory = {.alignment = tensor_alignment}});
}

const nn::FusionSupport every_fusion{[](const Graph&, const Node&) { return 0.0; }};

} // namespace

TEST_CASE_METHOD(Norms, "norms of every combination of types, with and without an addend") {
  for (const auto& c : norm_cases()) {
    INFO(c.text());
    check_forward(c);
  }
}

TEST_CASE_METHOD(Norms, "gradients of norms in every combination of types, added and narrow") {
  for (const auto& c : norm_cases())
    for (const bool other : {false, true}) {
      INFO(c.text() << (other ? ", added" : ""));
      if (!c.other || (c.x == DType::f32 && *c.other != DType::f32))
        check_backward(c, other);
    }
}

TEST_CASE_METHOD(Norms, "gradients of more rows than groups of threads") {
  check_backward({2500, 64, DType::f32, DType::bf16, DType::bf16}, true);
  check_backward({5000, 9, DType::f32, DType::f32}, false);
}

TEST_CASE_METHOD(Norms, "gradients of a norm's parameters have the same bits in every run") {
  const NormCase c{2500, 64};
  const auto dy = normal(c, 1, c.y), x = normal(c, 2, c.x);
  const auto run = [&] {
    const LayerNormBackward on{.dy = upload(dy.values),
                               .x = upload(x.values),
                               .dx = float_room(x.values.size()),
                               .scale = floats(by_column(c, 3).values),
                               .mean = floats(Floats(2500, 0.0f)),
                               .inv_std = floats(Floats(2500, 1.0f)),
                               .dscale = float_room(64),
                               .dshift = float_room(64)};
    launch_layer_norm_backward(handle(), c.shape(), on, partials(c));
    return std::pair{download(on.dscale, 64), download(on.dshift, 64)};
  };
  CHECK(run() == run());
}

TEST_CASE("language models with fused norms match the interpreter") {
  const auto device = device_or_skip();
  for (const auto precision : {Precision::fp32, Precision::amp_fp16, Precision::amp_bf16}) {
    INFO(to_string(precision));
    const auto model = small_language_model(precision, every_fusion);
    CHECK(std::ranges::count_if(model.graph.nodes, sums_in_norm) >= 4);
    const auto options = options_for(precision);
    const auto reference = run_reference(model.graph, options);
    require_same_pass(run_graph(*device, model.graph, options), reference, precision);
  }
}

TEST_CASE("language models learn the same with and without fusions") {
  const auto device = device_or_skip();
  const Steps steps{.count = 6, .batches = 2, .whole = true, .learn = true};
  for (const auto precision : {Precision::amp_fp16, Precision::amp_bf16}) {
    INFO(to_string(precision));
    const auto losses = [&](const nn::FusionSupport& support) {
      const auto model = small_language_model(precision, support);
      return run_graph(*device, model.graph, options_for(precision, model.memory), steps).losses();
    };
    const auto fused = losses(every_fusion), separate = losses({});
    const float epsilon = precision == Precision::amp_fp16 ? 0x1p-10f : 0x1p-7f;
    for (std::size_t i = 0; i < separate.size(); ++i)
      CHECK(std::abs(fused[i] - separate[i]) <= epsilon * separate[i]);
    CHECK(separate.back() < separate.front());
  }
}
