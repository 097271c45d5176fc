#include "gpu/cublas/matmul.hpp"

#include "core/fail.hpp"
#include "gpu/device_guard.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <type_traits>

namespace troupe::gpu {

namespace {

/// Alignment of run()'s matrices, in bytes. The heuristics assume 256 by default.
constexpr std::uint32_t matrix_alignment = 64;
constexpr std::uintptr_t bias_alignment = 16;

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

/// A matrix as cuBLASLt sees it, column-major: it is the transpose of the row-major (rows,
/// columns).
struct Layout {
  std::int64_t rows, columns;
};

/// The product as column-major result = op(a)·op(b): a is the second factor, b the first.
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

/// Addresses that the epilogue uses.
struct EpilogueMemory {
  void* bias;
  void* gelu_input;
};

/// Placeholders while algorithms are chosen. They are never read, but the library takes the
/// alignment from them.
const EpilogueMemory placeholders{reinterpret_cast<void*>(bias_alignment),
                                  reinterpret_cast<void*>(std::uintptr_t{matrix_alignment})};

cublasLtEpilogue_t epilogue_of(const MatmulOptions& o) {
  if (o.bias && o.product == Product::backward_weight)
    return CUBLASLT_EPILOGUE_BGRADB;
  if (!o.gelu)
    return o.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (o.product == Product::backward_data)
    return CUBLASLT_EPILOGUE_DGELU;
  return o.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
}

template <class Pointer>
using Owned = std::shared_ptr<std::remove_pointer_t<Pointer>>;

} // namespace

/// The description of a product. Immutable once created.
struct Matmul::Plan {
  std::shared_ptr<CublasLt> handle; ///< declared first: it must outlive the descriptors
  MatmulOptions options;
  Mapping map;
  Owned<cublasLtMatmulDesc_t> operation; ///< used by run() unless the epilogue has addresses
  Owned<cublasLtMatrixLayout_t> a, b, result;

  Result<Owned<cublasLtMatrixLayout_t>> layout(const Layout& matrix, DType dtype) const;
  Result<Owned<cublasLtMatmulDesc_t>> operation_with(const EpilogueMemory& memory) const;
  Result<std::vector<cublasLtMatmulAlgo_t>> algorithms(int most) const;
};

Result<Owned<cublasLtMatrixLayout_t>> Matmul::Plan::layout(const Layout& matrix,
                                                           DType dtype) const {
  const auto& library = handle->library();
  cublasLtMatrixLayout_t made = nullptr;
  TROUPE_TRY(handle->check(
      library.create_layout(&made, type_of(dtype), static_cast<std::uint64_t>(matrix.rows),
                            static_cast<std::uint64_t>(matrix.columns), matrix.rows),
      "describing a matrix"));
  return Owned<cublasLtMatrixLayout_t>{made, library.destroy_layout};
}

Result<Owned<cublasLtMatmulDesc_t>>
Matmul::Plan::operation_with(const EpilogueMemory& memory) const {
  const auto& library = handle->library();
  const auto compute = options.tf32 && options.operands == DType::f32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                      : CUBLAS_COMPUTE_32F;
  constexpr auto describing = "describing a product";
  cublasLtMatmulDesc_t made = nullptr;
  TROUPE_TRY(handle->check(library.create_matmul(&made, compute, CUDA_R_32F), describing));
  Owned<cublasLtMatmulDesc_t> described{made, library.destroy_matmul};
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return handle->check(library.set_matmul_attribute(made, attribute, &value, sizeof value),
                         describing);
  };
  TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, map.transpose_a));
  TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, map.transpose_b));
  TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(options)));
  if (options.bias) {
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(options.result)));
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias));
  }
  if (options.gelu) {
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, type_of(options.result)));
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, map.result.rows));
    TROUPE_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, memory.gelu_input));
  }
  return described;
}

Result<std::vector<cublasLtMatmulAlgo_t>> Matmul::Plan::algorithms(int most) const {
  const auto& library = handle->library();
  constexpr auto choosing = "choosing an algorithm";
  cublasLtMatmulPreference_t made = nullptr;
  TROUPE_TRY(handle->check(library.create_preference(&made), choosing));
  const Owned<cublasLtMatmulPreference_t> preference{made, library.destroy_preference};
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return handle->check(library.set_preference_attribute(made, attribute, &value, sizeof value),
                         choosing);
  };
  TROUPE_TRY(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, options.workspace_bytes));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    TROUPE_TRY(set(attribute, matrix_alignment));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  const auto status =
      library.find_algorithms(handle->handle(), operation.get(), a.get(), b.get(), result.get(),
                              result.get(), made, most, found.data(), &count);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < count; ++i)
    if (const auto& one = found[static_cast<std::size_t>(i)]; one.state == CUBLAS_STATUS_SUCCESS)
      algorithms.push_back(one.algo);
  if (algorithms.empty())
    return fail(Errc::unsupported, "cuBLASLt has no algorithm for a {}: {}", to_string(options),
                library.status_string(status));
  return algorithms;
}

std::string to_string(const MatmulOptions& o) {
  constexpr const char* names[] = {"forward", "backward data", "backward weight"};
  const bool converts = o.result != o.operands;
  return fmt::format("product {} {}x{} -> {} {}{}{}{}{}", names[static_cast<int>(o.product)],
                     o.rows, o.in, o.out, to_string(o.operands), converts ? " -> f32" : "",
                     o.tf32 ? ", tf32" : "", o.bias ? ", bias" : "", o.gelu ? ", gelu" : "");
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

Result<std::shared_ptr<const Matmul::Plan>> Matmul::describe(std::shared_ptr<CublasLt> handle,
                                                             const MatmulOptions& options) {
  if (options.result != DType::f32 && options.result != options.operands)
    return fail(Errc::unsupported, "a product of {} cannot produce {}", to_string(options.operands),
                to_string(options.result));
  if (options.bias && options.product == Product::backward_data)
    return fail(Errc::internal, "a product of a gradient of data has no bias");
  if (options.gelu && options.product == Product::backward_weight)
    return fail(Errc::internal, "a product of a weight's gradient has no gelu");
  auto plan = std::make_shared<Plan>();
  plan->handle = std::move(handle);
  plan->options = options;
  plan->map = mapping(options);
  TROUPE_TRY(plan->operation, plan->operation_with(placeholders));
  TROUPE_TRY(plan->a, plan->layout(plan->map.a, options.operands));
  TROUPE_TRY(plan->b, plan->layout(plan->map.b, options.operands));
  TROUPE_TRY(plan->result, plan->layout(plan->map.result, options.result));
  return plan;
}

Result<std::vector<Matmul>> Matmul::candidates(std::shared_ptr<CublasLt> handle,
                                               const MatmulOptions& options, int most) {
  TROUPE_TRY(const auto plan, describe(std::move(handle), options));
  TROUPE_TRY(const auto algorithms, plan->algorithms(most));
  std::vector<Matmul> all;
  all.reserve(algorithms.size());
  for (const auto& algorithm : algorithms)
    all.push_back(Matmul{plan, algorithm});
  return all;
}

Result<Matmul> Matmul::with(std::shared_ptr<CublasLt> handle, const MatmulOptions& options,
                            const cublasLtMatmulAlgo_t& algorithm) {
  TROUPE_TRY(auto plan, describe(std::move(handle), options));
  const auto& library = plan->handle->library();
  cublasLtMatmulHeuristicResult_t checked = {};
  const auto status = library.check_algorithm(plan->handle->handle(), plan->operation.get(),
                                              plan->a.get(), plan->b.get(), plan->result.get(),
                                              plan->result.get(), &algorithm, &checked);
  if (status != CUBLAS_STATUS_SUCCESS || checked.workspaceSize > options.workspace_bytes)
    return fail(Errc::unsupported, "cuBLASLt rejects an algorithm for a {}: {}", to_string(options),
                library.status_string(status));
  return Matmul{std::move(plan), algorithm};
}

std::string Matmul::tag() const {
  const auto attribute = [this](cublasLtMatmulAlgoConfigAttributes_t which) {
    std::int32_t value = -1; // for attributes that the algorithm lacks
    std::size_t written = 0;
    plan_->handle->library().get_algorithm_attribute(&algorithm_, which, &value, sizeof value,
                                                     &written);
    return value;
  };
  return fmt::format("algorithm {} tile={} stages={} splitk={}", attribute(CUBLASLT_ALGO_CONFIG_ID),
                     attribute(CUBLASLT_ALGO_CONFIG_TILE_ID),
                     attribute(CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     attribute(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

/// The addresses of an epilogue are part of the description, so each run with an epilogue creates
/// its own. That takes the library less than a microsecond, and runs of several threads stay
/// independent.
Status Matmul::run(cudaStream_t stream, const MatmulMemory& memory) const {
  return multiply(stream, 0, memory);
}

Status Matmul::add(cudaStream_t stream, const MatmulMemory& memory) const {
  return multiply(stream, 1, memory);
}

Status Matmul::multiply(cudaStream_t stream, float kept, const MatmulMemory& memory) const {
  const auto& plan = *plan_;
  auto operation = plan.operation;
  if (plan.options.bias || plan.options.gelu) {
    TROUPE_TRY(operation, plan.operation_with({memory.bias, memory.gelu_input}));
  }
  constexpr float one = 1;
  return plan.handle->check(plan.handle->library().matmul(
                                plan.handle->handle(), operation.get(), &one, memory.second,
                                plan.a.get(), memory.first, plan.b.get(), &kept, memory.result,
                                plan.result.get(), memory.result, plan.result.get(), &algorithm_,
                                memory.workspace, plan.options.workspace_bytes, stream),
                            "a matrix product");
}

} // namespace troupe::gpu
