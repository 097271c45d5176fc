/// The epilogues of the emulated cuBLASLt: what is done to a product before it is stored, and the
/// rules for their attributes in cublasLt.h.
#pragma once

#include "tests/emulation/values.hpp"

#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

namespace emulation {

/// A data type that was not set: that of the result.
inline constexpr auto unset_type = static_cast<cudaDataType_t>(-1);

struct Epilogue {
  cublasLtEpilogue_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  cudaDataType_t bias_type = unset_type, aux_type = unset_type;
  void* bias = nullptr; ///< or its gradient
  void* aux = nullptr;  ///< GELU's input
  std::int64_t aux_stride = 0;

  bool has_bias() const {
    return kind == CUBLASLT_EPILOGUE_BIAS || kind == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  }
  bool sums_b() const { return kind == CUBLASLT_EPILOGUE_BGRADB; }
  bool has_aux() const {
    return kind == CUBLASLT_EPILOGUE_GELU_AUX || kind == CUBLASLT_EPILOGUE_GELU_AUX_BIAS ||
           kind == CUBLASLT_EPILOGUE_DGELU;
  }

  /// Whether the attributes suit a result of this type and number of rows (column-major). GELU is
  /// computed only where the result has the type of the operands. With the environment variable
  /// TROUPE_EMULATED_NO_EPILOGUES, no epilogue is supported.
  bool fits(cudaDataType_t operands, cudaDataType_t result, std::uint64_t rows) const {
    const auto suits = [result](cudaDataType_t type) {
      return type == unset_type || type == result;
    };
    if (kind == CUBLASLT_EPILOGUE_DEFAULT)
      return true;
    if ((!has_bias() && !sums_b() && !has_aux()) || std::getenv("TROUPE_EMULATED_NO_EPILOGUES"))
      return false;
    if ((has_bias() || sums_b()) && (!suits(bias_type) || alignment_of(bias) < 16))
      return false;
    return !has_aux() || (operands == result && suits(aux_type) && alignment_of(aux) >= 16 &&
                          aux_stride % 8 == 0 && aux_stride >= static_cast<std::int64_t>(rows));
  }

  /// Applies the epilogue to a column of the product.
  void apply(std::vector<float>& values, std::uint64_t column, Type type) const {
    if (has_bias()) {
      const auto added = load(bias, values.size(), type);
      std::transform(values.begin(), values.end(), added.begin(), values.begin(), std::plus{});
    }
    if (!has_aux())
      return;
    auto* const inputs = static_cast<std::byte*>(aux) +
                         column * static_cast<std::uint64_t>(aux_stride) * size_of(type);
    if (kind == CUBLASLT_EPILOGUE_DGELU) {
      const auto at = load(inputs, values.size(), type);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] *= slope(at[i]);
      return;
    }
    store(values, inputs, type);
    for (auto& value : values)
      value = gelu(value);
  }

  /// Returns the largest power of two, up to 256, that divides an address; 0 for null.
  static std::uint64_t alignment_of(const void* address) {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return std::min<std::uint64_t>(value & (~value + 1), 256);
  }

private:
  static constexpr double factor = 0.7978845608028654, cubic = 0.044715; ///< sqrt(2 / pi)

  static double tanh_at(double x) { return std::tanh(factor * (x + cubic * x * x * x)); }
  static float gelu(float x) {
    return static_cast<float>(static_cast<double>(x) * (1 + tanh_at(static_cast<double>(x))) / 2);
  }
  /// GELU's derivative.
  static float slope(float at) {
    const auto x = static_cast<double>(at);
    const double t = tanh_at(x);
    return static_cast<float>((1 + t) / 2 + x * (1 - t * t) / 2 * factor * (1 + 3 * cubic * x * x));
  }
};

} // namespace emulation
