// Tests how products are described to cuBLASLt. A substitute library computes on the host what it
// is told: column by column, with the transposes and strides that were set.
#include "core/fail.hpp"
#include "gpu/cublas/matmul.hpp"
#include "gpu/detail/measure.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

using namespace troupe;
using namespace troupe::gpu;

namespace {

struct Operation {
  int transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;
};

struct Matrix {
  std::uint64_t rows, columns;
  std::int64_t stride;

  float at(const float* data, std::uint64_t row, std::uint64_t column, int transpose) const {
    return transpose == CUBLAS_OP_T ? data[row * static_cast<std::uint64_t>(stride) + column]
                                    : data[column * static_cast<std::uint64_t>(stride) + row];
  }
};

template <class To, class From>
To* as(From* opaque) {
  return reinterpret_cast<To*>(opaque);
}

cublasStatus_t set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
                   const void* value, std::size_t bytes) {
  auto* const operation = as<Operation>(description);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    std::memcpy(&operation->transpose_a, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB)
    std::memcpy(&operation->transpose_b, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE)
    std::memcpy(&operation->epilogue, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER)
    std::memcpy(&operation->bias, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// A barrier that all counted threads reach before any of them computes; null: no thread waits.
std::barrier<>* start_together = nullptr;

cublasStatus_t multiply(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void*,
                        const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                        cublasLtMatrixLayout_t b_layout, const void*, const void*,
                        cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                        const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t) {
  if (start_together)
    start_together->arrive_and_wait();
  const auto& operation = *as<Operation>(description);
  const auto &left = *as<Matrix>(a_layout), &right = *as<Matrix>(b_layout),
             &result = *as<Matrix>(d_layout);
  const auto depth = operation.transpose_a == CUBLAS_OP_T ? left.rows : left.columns;
  const auto other_depth = operation.transpose_b == CUBLAS_OP_T ? right.columns : right.rows;
  if (depth != other_depth)
    return CUBLAS_STATUS_INVALID_VALUE;
  for (std::uint64_t column = 0; column < result.columns; ++column)
    for (std::uint64_t row = 0; row < result.rows; ++row) {
      float sum = operation.epilogue == CUBLASLT_EPILOGUE_BIAS ? operation.bias[row] : 0;
      for (std::uint64_t k = 0; k < depth; ++k)
        sum += left.at(static_cast<const float*>(a), row, k, operation.transpose_a) *
               right.at(static_cast<const float*>(b), k, column, operation.transpose_b);
      static_cast<float*>(d)[column * static_cast<std::uint64_t>(result.stride) + row] = sum;
    }
  return CUBLAS_STATUS_SUCCESS;
}

CublasLtLibrary host_library() {
  CublasLtLibrary library;
  library.create = [](cublasLtHandle_t* handle) {
    *handle = nullptr;
    return CUBLAS_STATUS_SUCCESS;
  };
  library.destroy = [](cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; };
  library.status_string = [](cublasStatus_t) { return "some status"; };
  library.create_matmul = [](cublasLtMatmulDesc_t* made, cublasComputeType_t, cudaDataType_t) {
    *made = as<cublasLtMatmulDescOpaque_t>(new Operation);
    return CUBLAS_STATUS_SUCCESS;
  };
  library.destroy_matmul = [](cublasLtMatmulDesc_t description) {
    delete as<Operation>(description);
    return CUBLAS_STATUS_SUCCESS;
  };
  library.set_matmul_attribute = set;
  library.create_layout = [](cublasLtMatrixLayout_t* made, cudaDataType, std::uint64_t rows,
                             std::uint64_t columns, std::int64_t stride) {
    *made = as<cublasLtMatrixLayoutOpaque_t>(new Matrix{rows, columns, stride});
    return CUBLAS_STATUS_SUCCESS;
  };
  library.destroy_layout = [](cublasLtMatrixLayout_t layout) {
    delete as<Matrix>(layout);
    return CUBLAS_STATUS_SUCCESS;
  };
  library.create_preference = [](cublasLtMatmulPreference_t* made) {
    *made = nullptr;
    return CUBLAS_STATUS_SUCCESS;
  };
  library.destroy_preference = [](cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; };
  library.set_preference_attribute = [](cublasLtMatmulPreference_t,
                                        cublasLtMatmulPreferenceAttributes_t, const void*,
                                        std::size_t) { return CUBLAS_STATUS_SUCCESS; };
  library.find_algorithms = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                               cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                               cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int wanted,
                               cublasLtMatmulHeuristicResult_t* found, int* count) {
    for (*count = 0; *count < std::min(wanted, 3); ++*count) {
      found[*count] = {};
      found[*count].algo.data[0] = static_cast<std::uint64_t>(*count);
      found[*count].state = *count == 1 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_SUCCESS;
  };
  library.check_algorithm = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                               cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                               cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                               cublasLtMatmulHeuristicResult_t* checked) {
    checked->workspaceSize = algorithm->data[1];
    return algorithm->data[0] < 3 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  };
  library.matmul = multiply;
  return library;
}

constexpr std::int64_t rows = 3, in = 4, out = 2;

/// Returns a pattern of `elements` values.
std::vector<float> pattern(std::int64_t elements, float step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < elements; ++i)
    values.push_back(static_cast<float>(i % 5) - step * static_cast<float>(i));
  return values;
}

std::vector<float> run(Product product, const std::vector<float>& first,
                       const std::vector<float>& second, std::int64_t elements,
                       float* bias = nullptr) {
  const auto handle = CublasLt::create(host_library(), 0).value();
  const auto matmuls = Matmul::candidates(
      handle, {.product = product, .rows = rows, .in = in, .out = out, .bias = bias != nullptr}, 1);
  REQUIRE(matmuls);
  std::vector<float> result(static_cast<std::size_t>(elements));
  REQUIRE(
      matmuls->front().run(nullptr, {first.data(), second.data(), result.data(), nullptr, bias}));
  return result;
}

float at(const std::vector<float>& matrix, std::int64_t columns, std::int64_t r, std::int64_t c) {
  return matrix[static_cast<std::size_t>(r * columns + c)];
}

} // namespace

TEST_CASE("the three products of a linear layer match row-major matrices") {
  const auto x = pattern(rows * in, 0.5f), weight = pattern(out * in, 0.25f),
             dy = pattern(rows * out, 0.125f);
  auto bias = pattern(out, 3);
  const auto y = run(Product::forward, x, weight, rows * out, bias.data());
  const auto dx = run(Product::backward_data, dy, weight, rows * in);
  const auto dweight = run(Product::backward_weight, dy, x, out * in);
  for (std::int64_t n = 0; n < rows; ++n)
    for (std::int64_t o = 0; o < out; ++o) {
      float sum = bias[static_cast<std::size_t>(o)];
      for (std::int64_t i = 0; i < in; ++i)
        sum += at(x, in, n, i) * at(weight, in, o, i);
      CHECK(at(y, out, n, o) == Catch::Approx(sum));
    }
  for (std::int64_t i = 0; i < in; ++i) {
    for (std::int64_t n = 0; n < rows; ++n) {
      float sum = 0;
      for (std::int64_t o = 0; o < out; ++o)
        sum += at(dy, out, n, o) * at(weight, in, o, i);
      CHECK(at(dx, in, n, i) == Catch::Approx(sum));
    }
    for (std::int64_t o = 0; o < out; ++o) {
      float sum = 0;
      for (std::int64_t n = 0; n < rows; ++n)
        sum += at(dy, out, n, o) * at(x, in, n, i);
      CHECK(at(dweight, in, o, i) == Catch::Approx(sum));
    }
  }
}

TEST_CASE("a product that the library does not support is an error that names it") {
  auto library = host_library();
  library.find_algorithms = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                               cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                               cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                               cublasLtMatmulHeuristicResult_t*, int* count) {
    *count = 0;
    return CUBLAS_STATUS_NOT_SUPPORTED;
  };
  const auto handle = CublasLt::create(library, 0).value();
  const auto matmul = Matmul::candidates(handle, {.rows = 3, .in = 4, .out = 2}, 8);
  REQUIRE_FALSE(matmul);
  CHECK(matmul.error().code == Errc::unsupported);
  CHECK(matmul.error().message.find("product forward 3x4 -> 2 f32") != std::string::npos);
  CHECK_FALSE(Matmul::candidates(handle, {.operands = DType::f16, .result = DType::bf16}, 8));
}

TEST_CASE("an epilogue that a kind of product lacks is an error") {
  const auto handle = CublasLt::create(host_library(), 0).value();
  const auto code = [&](Product product, bool bias, bool gelu) {
    const auto matmuls = Matmul::candidates(
        handle,
        {.product = product, .rows = rows, .in = in, .out = out, .bias = bias, .gelu = gelu}, 1);
    return matmuls ? std::nullopt : std::optional{matmuls.error().code};
  };
  CHECK(code(Product::backward_data, true, false) == Errc::internal);
  CHECK(code(Product::backward_weight, false, true) == Errc::internal);
  CHECK_FALSE(code(Product::backward_data, false, true));
  CHECK_FALSE(code(Product::backward_weight, true, false));
}

TEST_CASE("two threads run one product with two biases at once") {
  const auto x = pattern(rows * in, 0.5f), weight = pattern(out * in, 0.25f);
  std::vector<std::vector<float>> biases{pattern(out, 3), pattern(out, -7)};
  std::vector<std::vector<float>> expected, results(2, std::vector<float>(rows * out));
  for (auto& bias : biases)
    expected.push_back(run(Product::forward, x, weight, rows * out, bias.data()));
  const auto handle = CublasLt::create(host_library(), 0).value();
  const auto matmuls =
      Matmul::candidates(handle, {.rows = rows, .in = in, .out = out, .bias = true}, 1);
  REQUIRE(matmuls);
  std::barrier both{2};
  start_together = &both;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        (void)matmuls->front().run(
            nullptr, {x.data(), weight.data(), results[i].data(), nullptr, biases[i].data()});
      });
  }
  start_together = nullptr;
  CHECK(results == expected);
}

TEST_CASE("candidates are the algorithms that the library supports, and can be created again") {
  const auto handle = CublasLt::create(host_library(), 0).value();
  const MatmulOptions options{.rows = rows, .in = in, .out = out, .workspace_bytes = 100};
  const auto matmuls = Matmul::candidates(handle, options, 8);
  REQUIRE(matmuls);
  REQUIRE(matmuls->size() == 2); // the library proposes three
  const auto again = Matmul::with(handle, options, matmuls->back().algorithm());
  REQUIRE(again);
  CHECK(again->algorithm().data[0] == 2);
  CHECK_FALSE(Matmul::with(handle, options, {{3}}));      // an algorithm that the library refuses
  CHECK_FALSE(Matmul::with(handle, options, {{0, 101}})); // an algorithm that needs more workspace
}

TEST_CASE("different products have different names") {
  const MatmulOptions options{.rows = 128, .in = 2048, .out = 1000, .operands = DType::f16};
  CHECK(to_string(options) == "product forward 128x2048 -> 1000 f16 -> f32");
  auto other = options;
  other.result = DType::f16;
  other.bias = true;
  CHECK(to_string(other) == "product forward 128x2048 -> 1000 f16, bias");
  other.gelu = true;
  CHECK(to_string(other) == "product forward 128x2048 -> 1000 f16, bias, gelu");
  other = {.product = Product::backward_weight, .rows = 1, .in = 2, .out = 3, .tf32 = true};
  CHECK(to_string(other) == "product backward weight 1x2 -> 3 f32, tf32");
}

TEST_CASE("the fastest candidate that ran is chosen") {
  using Times = std::vector<Result<double>>;
  const Result<double> refused = fail(Errc::device, "refused");
  CHECK(fastest(Times{3.0, refused, 1.0, 2.0}) == std::size_t{2});
  CHECK(fastest(Times{2.0, 2.0}) == std::size_t{0});
  const auto none = fastest(Times{refused, refused});
  REQUIRE_FALSE(none);
  CHECK(none.error().message == "no candidate ran; last: refused");
}
