#include "gpu/cudnn/patterns.hpp"

#include <catch2/catch_test_macros.hpp>

#include <set>

using namespace troupe::gpu::cudnn;
using troupe::Residual;

namespace {

constexpr ConvolutionProblem problem = {8, 56, 28, 64, 128, 3, 2, 1};

std::set<Uid> pointers_of(const OperationGraph& graph) {
  std::set<Uid> uids;
  for (const auto& tensor : graph.tensors)
    if (tensor.is_bound())
      uids.insert(tensor.uid);
  return uids;
}

} // namespace

TEST_CASE("a convolution problem has the shapes of its tensors") {
  CHECK(problem.x() == Dims{8, 64, 56, 28});
  CHECK(problem.w() == Dims{128, 64, 3, 3});
  CHECK(problem.y() == Dims{8, 128, 28, 14});
  CHECK(problem.to_string() == "8x56x28x64 -> 128, 3x3 / 2");
}

TEST_CASE("tensors are in channels-last layout") {
  CHECK(channels_last_strides({8, 64, 56, 28}) == Dims{56 * 28 * 64, 1, 28 * 64, 64});
  CHECK(channels_last_strides({1, 64, 1, 1}) == Dims{64, 1, 64, 64});
}

TEST_CASE("patterns read and write the tensors they document") {
  using namespace uid;
  const auto half = problem.type;
  CHECK(pointers_of(convolution_forward(problem)) == std::set{x, w, y});
  CHECK(pointers_of(convolution_backward_data(problem)) == std::set{dx, w, dy});
  CHECK(pointers_of(convolution_backward_filter(problem, half)) == std::set{x, dw, dy});
  CHECK(pointers_of(convolution_statistics(problem)) == std::set{x, w, y, sum, square_sum});
  CHECK(pointers_of(normalized_convolution_statistics(problem)) ==
        std::set{x, scale, bias, w, y, sum, square_sum});
  CHECK(pointers_of(backward_data_batch_norm(problem)) ==
        std::set{dy, w, dx, bn_x, bn_mean, bn_inv_std, bn_scale, bn_bias, dscale, dbias, a, b, c});
  auto at_block_end = pointers_of(backward_data_batch_norm(problem));
  at_block_end.insert({other_dx, shortcut});
  CHECK(pointers_of(backward_data_batch_norm(problem, Residual::plain, true)) == at_block_end);
  at_block_end.erase(shortcut);
  for (const auto of_first : {bn_x, bn_mean, bn_inv_std, bn_scale, bn_bias, dscale, dbias, a, b, c})
    at_block_end.insert(of_first + dual_offset);
  CHECK(pointers_of(backward_data_batch_norm(problem, Residual::normalized, true)) == at_block_end);
  CHECK(pointers_of(normalized_backward_filter(problem, half)) == std::set{x, scale, bias, dw, dy});
  CHECK(pointers_of(residual_convolution_statistics(problem, false)) ==
        std::set{x, scale, bias, dual_x, w, activation, y, sum, square_sum});
  CHECK(pointers_of(residual_convolution_statistics(problem, true)) ==
        std::set{x, scale, bias, dual_x, dual_scale, dual_bias, w, activation, y, sum, square_sum});
}

TEST_CASE("a graph's canonical text differs whenever the plans must differ") {
  std::set<std::string> texts;
  auto other = problem;
  for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT}) {
    other.type = type;
    texts.insert(convolution_forward(other).canonical_text());
  }
  other = problem;
  other.stride = 1;
  texts.insert(convolution_forward(other).canonical_text());
  texts.insert(convolution_statistics(problem).canonical_text());
  texts.insert(convolution_backward_filter(problem, CUDNN_DATA_HALF).canonical_text());
  texts.insert(convolution_backward_filter(problem, CUDNN_DATA_FLOAT).canonical_text());
  CHECK(texts.size() == 7);
  CHECK(texts.contains(convolution_forward(problem).canonical_text()));
}

TEST_CASE("the canonical text of convolutions is that of the plans stored by earlier versions") {
  CHECK(convolution_backward_data({8, 56, 28, 64, 128, 3, 2, 1}).canonical_text() ==
        "4:2:8x64x56x28;2:2:128x64x3x3;6:2:8x128x28x14;conv1 x4 w2 y6 s2 p1;");
  CHECK(normalized_convolution_statistics({1, 2, 2, 8, 8, 1, 1, 0}).canonical_text() ==
        "1:2:1x8x2x2;7:2:1x8x1x1;8:2:1x8x1x1;100:0:1x8x2x2v;101:0:1x8x2x2v;102:2:1x8x2x2v;"
        "2:2:8x8x1x1;3:2:1x8x2x2;13:0:1x8x1x1;14:0:1x8x1x1;pw1 x1 b7 y100 t0 f1;"
        "pw0 x100 b8 y101 t0 f1;pw100 x101 b0 y102 t0 f1;conv0 x102 w2 y3 s1 p0;"
        "stats x3 s13 q14;");
}
