// Emulates the part of libcublasLt that gpu/libraries.hpp requests: products of column-major
// matrices with f32 sums, added to beta times the previous result, with epilogues.
#include "tests/emulation/cublas_lt/epilogue.hpp"
#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/stream.hpp"
#include "tests/emulation/values.hpp"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

using namespace emulation;

namespace {

struct Operation {
  cublasComputeType_t compute;
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  Epilogue epilogue;
};

struct Layout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t stride;
};

/// The heuristic's result and its assumptions, stored in the opaque algorithm.
struct Algorithm {
  /// "emulate2". Change it with the members: plan caches on disk contain algorithms.
  static constexpr std::uint64_t mark = 0x656d756c61746532;

  std::uint64_t marked, alignment, bias_alignment, aux_alignment, workspace_bytes, id;

  /// Whether the addresses are aligned as those that the heuristic was given.
  bool suits(const Epilogue& epilogue) const {
    return Epilogue::alignment_of(epilogue.bias) >= bias_alignment &&
           Epilogue::alignment_of(epilogue.aux) >= aux_alignment;
  }
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// Number of algorithms. The last passes heuristics and checks but does not run.
constexpr int algorithms = 3;

/// cuBLASLt's default when a preference sets no alignment.
constexpr std::uint64_t default_alignment = 256;

struct Preference {
  std::uint64_t workspace_bytes = 0;
  std::uint32_t alignment[4] = {default_alignment, default_alignment, default_alignment,
                                default_alignment}; ///< of A, B, C, D
};

template <class To, class From>
To& as(From* opaque) {
  return *reinterpret_cast<To*>(opaque);
}

std::optional<Type> type_of(cudaDataType_t type) {
  switch (type) {
  case CUDA_R_32F:
    return Type::f32;
  case CUDA_R_16F:
    return Type::f16;
  case CUDA_R_16BF:
    return Type::bf16;
  default:
    return std::nullopt;
  }
}

/// Sets a member from an attribute; the sizes must be equal.
template <class Member>
cublasStatus_t assign(Member& member, const void* value, std::size_t bytes) {
  if (bytes != sizeof member)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// The product op(A)·op(B) = D: its rows, columns and the depth of its sums.
struct Product {
  Operation operation;
  Layout a, b, d;

  std::uint64_t depth() const { return operation.transpose_a == CUBLAS_OP_N ? a.columns : a.rows; }

  bool shapes_fit() const {
    const bool turned_a = operation.transpose_a != CUBLAS_OP_N;
    const bool turned_b = operation.transpose_b != CUBLAS_OP_N;
    return (turned_a ? a.columns : a.rows) == d.rows &&
           (turned_b ? b.rows : b.columns) == d.columns &&
           (turned_b ? b.columns : b.rows) == depth();
  }

  /// Whether this is one of the type combinations of cuBLASLt's table that are used here.
  bool types_fit() const {
    const bool result_fits = d.type == a.type || d.type == CUDA_R_32F;
    const bool tf32 = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    return type_of(a.type) && a.type == b.type && result_fits && (!tf32 || a.type == CUDA_R_32F) &&
           operation.epilogue.fits(a.type, d.type, d.rows);
  }

  std::vector<float> operands(const Layout& layout, const void* data) const {
    auto values =
        load(data, static_cast<std::size_t>(layout.stride) * layout.columns, *type_of(layout.type));
    if (operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
      round_to_tf32(values);
    return values;
  }

  void run(const void* a_data, const void* b_data, void* d_data, float alpha, float beta) const {
    const auto left = operands(a, a_data), right = operands(b, b_data);
    const auto type = *type_of(d.type);
    const auto at = [](const std::vector<float>& values, const Layout& layout,
                       cublasOperation_t transpose, std::uint64_t row, std::uint64_t column) {
      const auto stride = static_cast<std::uint64_t>(layout.stride);
      return values[transpose == CUBLAS_OP_N ? column * stride + row : row * stride + column];
    };
    std::vector<float> result(d.rows), before(d.rows), sums_of_b(d.columns);
    for (std::uint64_t column = 0; column < d.columns; ++column) {
      auto* const to = static_cast<std::byte*>(d_data) +
                       column * static_cast<std::uint64_t>(d.stride) * size_of(type);
      if (beta != 0) // otherwise it is not read
        before = load(to, d.rows, type);
      for (std::uint64_t row = 0; row < d.rows; ++row) {
        double sum = 0;
        for (std::uint64_t k = 0; k < depth(); ++k)
          sum += static_cast<double>(at(left, a, operation.transpose_a, row, k)) *
                 static_cast<double>(at(right, b, operation.transpose_b, k, column));
        result[row] = static_cast<float>(static_cast<double>(alpha) * sum) + beta * before[row];
      }
      operation.epilogue.apply(result, column, type);
      store(result, to, type);
      for (std::uint64_t k = 0; k < depth(); ++k)
        sums_of_b[column] += at(right, b, operation.transpose_b, k, column);
    }
    if (operation.epilogue.sums_b())
      store(sums_of_b, operation.epilogue.bias, type);
  }
};

/// Returns the code that a product loads at its first launch; equal products share it.
const void* code_of(const Product& product, const Algorithm& algorithm) {
  static std::mutex mutex;
  static std::set<std::array<std::uint64_t, 7>> codes;
  const auto& o = product.operation;
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::lock_guard lock{mutex};
  return &*codes
               .insert({number(o.compute), number(o.transpose_a), number(o.transpose_b),
                        number(o.epilogue.kind), number(product.a.type), number(product.d.type),
                        algorithm.id})
               .first;
}

Algorithm from(const cublasLtMatmulAlgo_t* opaque) {
  Algorithm algorithm;
  std::memcpy(&algorithm, opaque, sizeof algorithm);
  return algorithm;
}

bool aligned(const void* address, std::uint64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int{current_device()});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete &as<int>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "success";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "an unsupported value or parameter was passed to the function";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "the functionality requested is not supported";
  default:
    return "the function failed to launch on the GPU";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  if ((compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
      scale != CUDA_R_32F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete &as<Operation>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  auto& operation = as<Operation>(description);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return assign(operation.transpose_a, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return assign(operation.transpose_b, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return assign(operation.epilogue.kind, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return assign(operation.epilogue.bias_type, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return assign(operation.epilogue.bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
    return assign(operation.epilogue.aux_type, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return assign(operation.epilogue.aux_stride, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return assign(operation.epilogue.aux, value, bytes);
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t stride) {
  if (!type_of(type) || rows == 0 || columns == 0 || stride < static_cast<std::int64_t>(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, stride});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &as<Layout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &as<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t described,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  auto& preference = as<Preference>(described);
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return assign(preference.workspace_bytes, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return assign(preference.alignment[0], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return assign(preference.alignment[1], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return assign(preference.alignment[2], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return assign(preference.alignment[3], value, bytes);
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

/// Returns all algorithms, each with another workspace size where one is allowed.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  *count = 0;
  const Product product{as<Operation>(operation), as<Layout>(a), as<Layout>(b), as<Layout>(d)};
  if (wanted < 1 || !product.shapes_fit())
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!product.types_fit())
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto& prefers = as<Preference>(preference);
  const auto alignment =
      *std::min_element(std::begin(prefers.alignment), std::end(prefers.alignment));
  for (*count = 0; *count < std::min(wanted, algorithms); ++*count) {
    const auto id = static_cast<std::uint64_t>(*count);
    const auto& epilogue = product.operation.epilogue;
    const Algorithm algorithm{Algorithm::mark,
                              alignment,
                              Epilogue::alignment_of(epilogue.bias),
                              Epilogue::alignment_of(epilogue.aux),
                              std::min<std::uint64_t>(prefers.workspace_bytes, (1 << 16) >> id),
                              id};
    auto& result = results[*count];
    result = {};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = algorithm.workspace_bytes;
    result.state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* chosen,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const auto algorithm = from(chosen);
  const Product product{as<Operation>(operation), as<Layout>(a), as<Layout>(b), as<Layout>(d)};
  if (algorithm.marked != Algorithm::mark || !product.shapes_fit())
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.id >= algorithms || !product.types_fit())
    return CUBLAS_STATUS_NOT_SUPPORTED;
  result->workspaceSize = algorithm.workspace_bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* chosen,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes,
                                                    std::size_t* written) {
  const auto id = static_cast<std::int32_t>(from(chosen).id);
  if (attribute != CUBLASLT_ALGO_CONFIG_ID)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (bytes != sizeof id)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &id, sizeof id);
  *written = sizeof id;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  const auto algorithm = from(chosen);
  const Product product{as<Operation>(operation), as<Layout>(a_layout), as<Layout>(b_layout),
                        as<Layout>(d_layout)};
  const auto* const of = stream_of(stream);
  if (algorithm.marked != Algorithm::mark || !product.shapes_fit() || !product.types_fit() ||
      c != d || workspace_bytes < algorithm.workspace_bytes ||
      !aligned(workspace, default_alignment) || !aligned(a, algorithm.alignment) ||
      !aligned(b, algorithm.alignment) || !aligned(d, algorithm.alignment) ||
      !algorithm.suits(product.operation.epilogue) || !of || of->device != as<int>(handle))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.id + 1 >= algorithms) {
    // The algorithm has two kernels: the first runs late, and the launch of the second is refused.
    enqueue_operation(stream, [d] {
      std::this_thread::sleep_for(std::chrono::milliseconds{30});
      *static_cast<std::byte*>(d) = std::byte{0};
    });
    remember(cudaErrorInvalidConfiguration);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  load(of->device, code_of(product, algorithm), "a product of cuBLASLt");
  const auto code =
      enqueue_operation(stream, [=, factor = as<const float>(alpha), kept = as<const float>(beta),
                                 used = algorithm.workspace_bytes] {
        if (used > 0)
          std::memset(workspace, 0xff, used);
        product.run(a, b, d, factor, kept);
      });
  return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
}
