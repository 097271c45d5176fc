/// Matrix products of a linear layer through cuBLASLt. Matrices are row-major; sums are f32.
#pragma once

#include "core/error.hpp"
#include "core/graph/tensor.hpp"
#include "gpu/libraries.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// A cuBLASLt handle on the device that was current when it was created. Thread-safe, as the
/// library is.
class CublasLt {
public:
  static Result<std::shared_ptr<CublasLt>> create(const CublasLtLibrary& library, int device);
  CublasLt(const CublasLtLibrary& library, cublasLtHandle_t handle, int device)
      : library_{library}, handle_{handle}, device_{device} {}
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  const CublasLtLibrary& library() const { return library_; }
  cublasLtHandle_t handle() const { return handle_; }
  /// Errors: device, with the operation and the library's text.
  Status check(cublasStatus_t status, const char* operation) const;

private:
  CublasLtLibrary library_;
  cublasLtHandle_t handle_;
  int device_;
};

enum class Product : std::uint8_t {
  forward,         ///< y (rows, out) = x (rows, in) · weightᵀ, weight (out, in) [, + bias (out)]
  backward_data,   ///< dx (rows, in) = dy (rows, out) · weight
  backward_weight, ///< dweight (out, in) = dyᵀ · x
};

struct MatmulOptions {
  Product product = Product::forward;
  std::int64_t rows = 0, in = 0, out = 0;
  DType operands = DType::f32; ///< both factors: f32, f16, bf16
  DType result = DType::f32;   ///< f32, or the type of the operands
  bool tf32 = false;           ///< f32 operands are rounded to tf32
  /// Forward: adds a bias (out). Backward weight: also writes the bias's gradient, the sum of dy
  /// over rows. Not for backward data.
  bool bias = false;
  /// Applies GELU's tanh form in the product's epilogue. A forward product also writes GELU's
  /// input; backward data multiplies dx by GELU's derivative at that input. Not for
  /// backward_weight. The result has the type of the operands, and the number of its columns is a
  /// multiple of 8.
  bool gelu = false;
  std::size_t workspace_bytes = 0; ///< size of the workspace that run() gets
};

/// For example "product forward 128x2048 -> 1000 f16 -> f32, bias, gelu": rows, in and out, then
/// the types.
std::string to_string(const MatmulOptions& options);

/// Addresses of a product's operands. Matrices are 64-byte aligned, and the heuristics are told so:
/// shards have no larger alignment (training/flat_plan.hpp), nor do buckets of 3, 5, 6 or 7 shards.
struct MatmulMemory {
  const void *first, *second; ///< in the order of Product's comments
  void* result;
  void* workspace;            ///< options.workspace_bytes, 256-byte aligned
  void* bias = nullptr;       ///< with options.bias: in the result's type, 16-byte aligned
  void* gelu_input = nullptr; ///< with options.gelu: a matrix like the result; backward reads it
};

/// One product of fixed shape with one of the library's algorithms. Thread-safe; copies share the
/// product's description.
class Matmul {
public:
  /// Returns up to `most` products, each with another algorithm, in the order of the library's
  /// heuristics. Errors: unsupported if the library has none; device.
  static Result<std::vector<Matmul>> candidates(std::shared_ptr<CublasLt> handle,
                                                const MatmulOptions& options, int most);
  /// Creates the product with an algorithm() of the same library version. Errors: unsupported if
  /// the library rejects it for this product on this device; device.
  static Result<Matmul> with(std::shared_ptr<CublasLt> handle, const MatmulOptions& options,
                             const cublasLtMatmulAlgo_t& algorithm);

  /// Plain data: it "may be trivially serialized" (cublasLt.h).
  const cublasLtMatmulAlgo_t& algorithm() const { return algorithm_; }
  /// For messages: "algorithm 66 tile=20 stages=35 splitk=1".
  std::string tag() const;

  /// Enqueues the product.
  Status run(cudaStream_t stream, const MatmulMemory& memory) const;
  /// As run(), but adds the product to the result; a bias's gradient is overwritten. Not for
  /// products with GELU or a forward product's bias.
  Status add(cudaStream_t stream, const MatmulMemory& memory) const;

private:
  struct Plan;
  Matmul(std::shared_ptr<const Plan> plan, const cublasLtMatmulAlgo_t& algorithm)
      : plan_{std::move(plan)}, algorithm_{algorithm} {}
  static Result<std::shared_ptr<const Plan>> describe(std::shared_ptr<CublasLt> handle,
                                                      const MatmulOptions& options);
  /// result = product + result * `kept`.
  Status multiply(cudaStream_t stream, float kept, const MatmulMemory& memory) const;

  std::shared_ptr<const Plan> plan_;
  cublasLtMatmulAlgo_t algorithm_;
};

} // namespace troupe::gpu
