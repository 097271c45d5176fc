#include "matmul.hpp"

#include "../device_guard.hpp"
#include "../kernels/elementwise.hpp"
#include "troupe/core/fail.hpp"

#include <cstdint>
#include <tuple>
#include <type_traits>

namespace troupe::gpu {

namespace {

/// As aligned as all that run() is given; nothing is read there.
const float* const aligned_address = reinterpret_cast<const float*>(std::uintptr_t{256});

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return CUDA_R_16F;
  case DType::bf16:
    return CUDA_R_16BF;
  default:
    return CUDA_R_32F;
  }
}

/// A matrix as cuBLASLt sees it, column by column: a row-major (rows, columns) is its transpose.
struct Layout {
  std::int64_t rows, columns;
};

/// The product as result = op(a)·op(b), all column-major: a is the second factor, b the first.
struct Mapping {
  Layout a, b, result;
  cublasOperation_t transpose_a, transpose_b;
};

Mapping mapping(const MatmulOptions& o) {
  const Layout x{o.in, o.rows}, y{o.out, o.rows}, weight{o.in, o.out};
  switch (o.product) {
  case Product::forward: // yᵀ = weight·xᵀ
    return {weight, x, y, CUBLAS_OP_T, CUBLAS_OP_N};
  case Product::backward_data: // dxᵀ = weightᵀ·dyᵀ
    return {weight, y, x, CUBLAS_OP_N, CUBLAS_OP_N};
  case Product::backward_weight: // dweightᵀ = xᵀ·dy
    break;
  }
  return {x, y, weight, CUBLAS_OP_N, CUBLAS_OP_T};
}

template <class Pointer>
using Owned = std::shared_ptr<std::remove_pointer_t<Pointer>>;

} // namespace

struct Matmul::Plan {
  std::shared_ptr<CublasLt> handle; ///< first: it outlives the descriptors
  MatmulOptions options;
  Mapping map;
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> a, b, result;
  cublasLtMatmulAlgo_t algorithm = {};

  bool fused_bias() const { return options.bias && options.result == DType::f32; }

  Result<Owned<cublasLtMatrixLayout_t>> layout(const Layout& matrix, DType dtype) const {
    const auto& library = handle->library();
    cublasLtMatrixLayout_t made = nullptr;
    TROUPE_TRY(handle->check(
        library.create_layout(&made, type_of(dtype), static_cast<std::uint64_t>(matrix.rows),
                              static_cast<std::uint64_t>(matrix.columns), matrix.rows),
        "describing a matrix"));
    return Owned<cublasLtMatrixLayout_t>{made, library.destroy_layout};
  }

  template <class Value>
  Status set(cublasLtMatmulDescAttributes_t attribute, const Value& value) const {
    return handle->check(
        handle->library().set_matmul_attribute(operation.get(), attribute, &value, sizeof value),
        "describing a product");
  }

  Status describe();
  Status choose();
};

Status Matmul::Plan::describe() {
  const auto& library = handle->library();
  const auto compute = options.tf32 && options.operands == DType::f32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                      : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t made = nullptr;
  TROUPE_TRY(
      handle->check(library.create_matmul(&made, compute, CUDA_R_32F), "describing a product"));
  operation = {made, library.destroy_matmul};
  TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, map.transpose_a));
  TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, map.transpose_b));
  if (fused_bias()) {
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS));
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F));
    // Algorithms are chosen by its alignment; run() sets the one that is read.
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned_address));
  }
  for (auto [to, matrix, dtype] :
       {std::tuple{&a, map.a, options.operands}, std::tuple{&b, map.b, options.operands},
        std::tuple{&result, map.result, options.result}}) {
    TROUPE_TRY(*to, layout(matrix, dtype));
  }
  return {};
}

Status Matmul::Plan::choose() {
  const auto& library = handle->library();
  cublasLtMatmulPreference_t made = nullptr;
  TROUPE_TRY(handle->check(library.create_preference(&made), "choosing an algorithm"));
  const Owned<cublasLtMatmulPreference_t> preference{made, library.destroy_preference};
  const auto bytes = options.workspace_bytes;
  TROUPE_TRY(
      handle->check(library.set_preference_attribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                     &bytes, sizeof bytes),
                    "choosing an algorithm"));
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  const auto status = library.find_algorithms(handle->handle(), operation.get(), a.get(), b.get(),
                                              result.get(), result.get(), made, 1, &found, &count);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0 || found.state != CUBLAS_STATUS_SUCCESS)
    return fail(Errc::unsupported,
                "cuBLASLt has no algorithm for a product of {} x {} x {} ({} to {}): {}",
                options.rows, options.in, options.out, to_string(options.operands),
                to_string(options.result), library.status_string(status));
  algorithm = found.algo;
  return {};
}

Result<std::shared_ptr<CublasLt>> CublasLt::create(const CublasLtLibrary& library, int device) {
  const DeviceGuard guard{device};
  cublasLtHandle_t handle = nullptr;
  if (const auto status = library.create(&handle); status != CUBLAS_STATUS_SUCCESS)
    return fail(Errc::device, "cuBLASLt cannot start on CUDA device {}: {}", device,
                library.status_string(status));
  return std::make_shared<CublasLt>(library, handle, device);
}

CublasLt::~CublasLt() {
  const DeviceGuard guard{device_};
  library_.destroy(handle_);
}

Status CublasLt::check(cublasStatus_t status, const char* operation) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return {};
  return fail(Errc::device, "{} with cuBLASLt on CUDA device {}: {}", operation, device_,
              library_.status_string(status));
}

Result<Matmul> Matmul::create(std::shared_ptr<CublasLt> handle, const MatmulOptions& options) {
  if (options.result != DType::f32 && options.result != options.operands)
    return fail(Errc::unsupported, "a product of {} cannot give {}", to_string(options.operands),
                to_string(options.result));
  if (options.bias && options.product != Product::forward)
    return fail(Errc::internal, "only a forward product has a bias");
  auto plan = std::make_shared<Plan>();
  plan->handle = std::move(handle);
  plan->options = options;
  plan->map = mapping(options);
  TROUPE_TRY(plan->describe());
  TROUPE_TRY(plan->choose());
  return Matmul{std::move(plan)};
}

Status Matmul::run(cudaStream_t stream, const void* first, const void* second, const float* bias,
                   void* result, void* workspace) const {
  const auto& plan = *plan_;
  const auto& o = plan.options;
  if (plan.fused_bias())
    TROUPE_TRY(plan.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  constexpr float one = 1, zero = 0;
  TROUPE_TRY(plan.handle->check(
      plan.handle->library().matmul(plan.handle->handle(), plan.operation.get(), &one, second,
                                    plan.a.get(), first, plan.b.get(), &zero, result,
                                    plan.result.get(), result, plan.result.get(), &plan.algorithm,
                                    workspace, o.workspace_bytes, stream),
      "a matrix product"));
  if (o.bias && !plan.fused_bias())
    launch_bias(stream, o.result, result, bias, result, o.rows, o.out);
  return {};
}

} // namespace troupe::gpu
