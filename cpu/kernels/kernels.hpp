/// Our kernels, compiled from the same sources for several instruction sets. Each processes the
/// data that it is given, on the calling thread.
#pragma once

#include "core/device/quantized.hpp"
#include "core/random.hpp"
#include "cpu/kernels/detail/views.hpp"
#include "cpu/kernels/panel_kernels.hpp"
#include "cpu/kernels/tile_kernels.hpp"

#include <type_traits>
#include <vector>

namespace troupe::cpu {

/// Rows of a layer norm, or of an RMS norm, which has no shift and no mean: these are then null.
template <class T>
struct NormRows {
  const T* x;
  T* y;
  std::size_t count, width;
  const float *scale, *shift; ///< by column
  float eps;
  float *mean, *inv_std; ///< by row, written; inv_std: of an RMS norm, 1 / RMS
};
template <class T>
struct NormBackwardRows {
  const T *dy, *x;
  T* dx;
  std::size_t count, width;
  const float* scale;          ///< by column
  const float *mean, *inv_std; ///< by row
  float *dscale, *dshift;      ///< by column, added to
};

/// The gradient of y = gate * sigmoid(gate) * up.
template <class T>
struct SwigluGradient {
  const T *dy, *gate, *up;
  T *dgate, *dup;
};

/// Dropout of consecutive elements of one sample (core/device/dropout_math.hpp).
struct DropoutMask {
  std::uint64_t key;
  std::uint32_t counter[4]; ///< the first word is replaced by the block's number
  std::uint32_t bound;
  float scale;
  std::size_t first; ///< index of the first element in the sample
};

/// Rotation of the heads of a row: pair i of each head by the angle with cosines[i] and sines[i].
struct Rotation {
  std::size_t heads, half; ///< half: pairs of a head
  const float *cosines, *sines;
  float direction; ///< -1: backward
};

/// The heads of one sequence that share keys and values. Distances are from row to row.
struct AttentionShape {
  std::size_t sequence, head_dim, heads;
  std::size_t q_distance, kv_distance, y_distance;
  std::size_t first = 0; ///< position of the first query; keys and values begin at position 0
};
template <class T, class Cached = T>
struct AttentionHeads {
  const T* q;
  const Cached *k, *v;
  T* y;
  float* log_sum_exp; ///< (heads, sequence); may be null
};
/// The heads of one row that share keys and values. Rows of keys and values are contiguous.
template <class T>
struct AttentionRow {
  const T* q;
  const float *k, *v;
  T* y;
  std::size_t heads, head_dim, keys;
};
/// Each gradient has the layout of its tensor.
template <class T>
struct AttentionGradients {
  const T *dy, *q, *k, *v, *y;
  const float* log_sum_exp; ///< (heads, sequence)
  T *dq, *dk, *dv;
};

/// The largest value `most` of a row x, and the sum of e^(x - most) over the row.
struct ExponentialSum {
  float most, sum;
};

/// Kernels on elements of one type.
template <class T>
struct TypedKernels {
  /// Adds up whole rows, by column.
  void (*add_rows)(const T* x, Rows rows, float* sums);
  /// Adds to sum and sum_squares, per column, x - shift and its square.
  void (*statistics)(const T* x, Rows rows, const float* shift, float* sum, float* sum_squares);
  /// y = x * factor + offset [+ residual], clipped at 0 if relu.
  void (*normalize)(const T* x, const T* residual, T* y, Rows rows, const float* factor,
                    const float* offset, bool relu);
  void (*backward_sums)(const BackwardSums<T>& views, Rows rows);
  /// dx = v * dy_factor + x * x_factor + offset, with BackwardSums' v; the mask has no y.
  void (*backward_input)(const T* dy, const T* x, const ReluMask<T>& mask, T* dx, Rows rows,
                         const float* dy_factor, const float* x_factor, const float* offset);
  void (*layer_norm)(const NormRows<T>& rows);
  void (*layer_norm_backward)(const NormBackwardRows<T>& rows);
  void (*rms_norm)(const NormRows<T>& rows);
  void (*rms_norm_backward)(const NormBackwardRows<T>& rows);
  /// Rotates one row.
  void (*rope)(const T* x, T* y, const Rotation& rotation);
  /// Floats of scratch for one call of attention or attention_backward; linear in the sequence.
  std::size_t (*attention_scratch)(const AttentionShape& shape, bool backward);
  /// Op::causal_attention and its backward.
  void (*attention)(const AttentionShape& shape, const AttentionHeads<T>& heads, float* scratch);
  void (*attention_backward)(const AttentionShape& shape, const AttentionGradients<T>& heads,
                             float* scratch);
  /// Op::cached_attention after the rows' keys and values are cached. attention_row() is faster for
  /// one row; its scratch has attention_row_scratch() floats.
  void (*cached_attention)(const AttentionShape& shape, const AttentionHeads<T, float>& heads,
                           float* scratch);
  void (*attention_row)(const AttentionRow<T>& row, float* scratch);
  /// y[i] = the sum of the products of x and row i of a matrix.
  void (*row_products)(const float* x, const T* matrix, std::size_t columns, float* y,
                       std::size_t rows);
  void (*dropout)(const DropoutMask& mask, const T* x, T* y, std::size_t elements);
  void (*swiglu)(const T* gate, const T* up, T* y, std::size_t elements);
  void (*swiglu_backward)(const SwigluGradient<T>& gradient, std::size_t elements);
  /// Cast to f32, and back, rounding to nearest, ties to even.
  void (*widen)(const T* source, float* destination, std::size_t elements);
  void (*narrow)(const float* source, T* destination, std::size_t elements);
  /// Rounds each value to the nearest one of the type.
  void (*round)(float* values, std::size_t elements);
  void (*relu)(const T* x, T* y, std::size_t elements);
  void (*relu_backward)(const T* dy, const T* y, T* dx, std::size_t elements);
  /// y = x * p(x), where p is the normal distribution function or its tanh approximation; and the
  /// gradient.
  void (*gelu)(const T* x, T* y, std::size_t elements, bool tanh);
  void (*gelu_backward)(const T* dy, const T* x, T* dx, std::size_t elements, bool tanh);
  void (*add)(const T* a, const T* b, T* sum, std::size_t elements);
  /// Computes rows [begin, end) of batch * out_height.
  void (*max_pool)(const PoolShape& shape, const T* x, T* y, std::int32_t* index, std::size_t begin,
                   std::size_t end);
  /// Computes rows [begin, end) of batch * height.
  void (*max_pool_backward)(const PoolShape& shape, const T* dy, const std::int32_t* index, T* dx,
                            std::size_t begin, std::size_t end);
  void (*avg_pool)(const PoolShape& shape, const T* x, T* y, std::size_t begin, std::size_t end);
  void (*avg_pool_backward)(const PoolShape& shape, const T* dy, T* dx, std::size_t begin,
                            std::size_t end);
};

/// The sources that fill in the table below for every type: CALL(name) for each.
#define TROUPE_KERNEL_SOURCES(CALL)                                                                \
  CALL(attention)                                                                                  \
  CALL(batch_norm)                                                                                 \
  CALL(elementwise)                                                                                \
  CALL(flat)                                                                                       \
  CALL(layer_norm)                                                                                 \
  CALL(panel_products)                                                                             \
  CALL(pooling)                                                                                    \
  CALL(row_products) CALL(softmax) CALL(winograd) CALL(winograd_bf16)

/// One instruction set's kernels. A table of pointers: code compiled for a newer processor must not
/// be reachable in any other way.
struct Kernels {
  const char* name;

  void (*add)(float* destination, const float* source, std::size_t elements);
  void (*add_product)(float* sum, const float* a, const float* b, std::size_t elements);
  void (*scale)(float* values, float factor, std::size_t elements);
  /// Encodes whole blocks; the last one may have fewer values (quantized.hpp).
  void (*quantize)(QuantizedType type, const float* source, float* scales, std::uint8_t* codes,
                   std::size_t elements);
  void (*dequantize)(QuantizedType type, const float* scales, const std::uint8_t* codes,
                     float* destination, std::size_t elements);
  /// Returns the squared norm of the gradients after clipping by value.
  double (*squared_norm)(const OptimizerArguments& arguments, const float* gradients,
                         std::size_t elements);
  bool (*all_finite)(const float* values, std::size_t elements);
  void (*optimizer_step)(const OptimizerArguments& arguments, const OptimizerRange& range);

  /// Scratch floats of cached_attention and attention_row, as for attention_scratch.
  std::size_t (*cached_attention_scratch)(const AttentionShape& shape, bool backward);
  std::size_t (*attention_row_scratch)(std::size_t head_dim, std::size_t keys);
  ExponentialSum (*exponential_sum)(const float* x, std::size_t elements);
  /// Replaces logits by (e^(x - log_sum_exp) - spread) * factor.
  void (*softmax_gradient)(float* logits, std::size_t elements, float log_sum_exp, float spread,
                           float factor);
  LogitKernels logits;
  WeightGradientKernels weight_gradient;
  PanelKernels panels;

  /// Transforms the weights of input channels [begin, end) to u, a matrix (in, out) for each of 36
  /// points. `turned`: reads the weights from the last to the first.
  void (*winograd_weights)(const WinogradShape& shape, const float* weights, bool turned, float* u,
                           std::size_t begin, std::size_t end);
  /// Writes tiles [begin, end) of y.
  void (*winograd_convolve)(const WinogradShape& shape, const float* x, const float* u, float* y,
                            float* scratch, std::size_t begin, std::size_t end);
  /// Adds the contributions of tiles [begin, end) to the sums, which are laid out like u.
  void (*winograd_gradient)(const WinogradShape& shape, const float* x, const float* dy,
                            float* sums, float* scratch, std::size_t begin, std::size_t end);
  /// Transforms the sums of input channels [begin, end) to the weights' gradient.
  void (*winograd_weight_gradient)(const WinogradShape& shape, const float* sums, float* gradient,
                                   std::size_t begin, std::size_t end);

  /// Like winograd_weights and winograd_convolve, for bf16 (views.hpp); u has pairs of input
  /// channels, (16 points, out / 16, in / 2, 16, 2).
  void (*winograd_bf16_weights)(const WinogradShape& shape, const float* weights, Bf16* u,
                                std::size_t begin, std::size_t end);
  /// Bytes of scratch for a call; aligned like floats.
  std::size_t (*winograd_bf16_scratch)(const WinogradShape& shape);
  void (*winograd_bf16_convolve)(const WinogradShape& shape, const Bf16* x, const Bf16* u,
                                 const WinogradOutput& output, std::byte* scratch,
                                 std::size_t begin, std::size_t end);

  TypedKernels<float> f32;
  TypedKernels<Bf16> bf16;
  TypedKernels<F16> f16;

  template <class T>
  const TypedKernels<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else if constexpr (std::is_same_v<T, Bf16>)
      return bf16;
    else
      return f16;
  }
  /// Calls set(typed kernels) for each type.
  template <class Set>
  void for_types(Set set) {
    set(f32);
    set(bf16);
    set(f16);
  }
};

/// Calls fn(T{}) with the element type of a floating-point dtype.
template <class Fn>
decltype(auto) with_element(DType dtype, Fn&& fn) {
  switch (dtype) {
  case DType::bf16:
    return fn(Bf16{});
  case DType::f16:
    return fn(F16{});
  default:
    return fn(float{});
  }
}

/// Returns all kernel tables that this processor can run, the best first.
std::vector<Kernels> usable_kernels();

/// Returns the best table for this processor.
const Kernels& kernels();

} // namespace troupe::cpu
