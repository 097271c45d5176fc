/// The part of oneDNN that we use, so that nothing else depends on its version: 2.6 makes
/// primitives from operation descriptors, 3.x has none.
#pragma once

#include "core/device/blocked_layout.hpp"
#include "core/error.hpp"
#include "core/graph/tensor.hpp"
#include "cpu/onednn/detail/instruction_set.hpp"

#include <cstdint>
#include <initializer_list>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::cpu {

/// The library's engine and stream; oneDNN runs on the calling thread.
struct Library {
  dnnl::engine engine{(limit_library(), dnnl::engine::kind::cpu), 0};
  dnnl::stream stream{engine};
};

/// One convolution, in both directions; activations are NHWC.
struct ConvolutionProblem {
  std::int64_t batch, height, width, in, out, out_height, out_width, kernel, stride, padding;
  DType activations = DType::f32;

  /// Elements of one image.
  std::size_t x_elements() const { return static_cast<std::size_t>(height * width * in); }
  std::size_t y_elements() const { return static_cast<std::size_t>(out_height * out_width * out); }
  /// Multiplications and additions of the direct algorithm.
  double operations() const {
    return 2.0 * static_cast<double>(batch * out_height * out_width * out) *
           static_cast<double>(in * kernel * kernel);
  }
};

/// Operations on a convolution's result before it is stored.
struct Epilogue {
  bool bias = false;              ///< f32, by channel
  bool add = false, relu = false; ///< with bias: a residual of y's type and shape; clipped at 0
  bool in_place = false;          ///< the residual lies where y is written
};

/// A primitive's argument for a residual that is not in place: it is added first.
inline constexpr int residual_argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

/// An operand given to a run by pointer.
struct Operand {
  int argument; ///< DNNL_ARG_...
  void* data;
};

/// A primitive of the library, ready to run. Several threads may run one concurrently, each with
/// its own scratchpad. A primitive made for several threads does not run inside a team
/// (parallel.hpp), where the library would have one thread and might add in another order.
class Primitive {
public:
  Primitive(const Library& library, const dnnl::primitive& primitive,
            const dnnl::primitive_desc_base& description,
            std::vector<std::pair<int, dnnl::memory::desc>> operands);

  void run(std::span<const Operand> operands, void* scratchpad) const;
  void run(std::initializer_list<Operand> operands, void* scratchpad) const {
    run(std::span{operands.begin(), operands.size()}, scratchpad);
  }
  /// For a primitive without sums: one thread computes the same bits, so it may run in a team.
  void allow_in_team() { threads_ = 1; }
  std::size_t scratchpad_bytes() const { return scratchpad_.get_size(); }
  const dnnl::memory::desc& description(int argument) const;
  /// The library's name of its implementation.
  const std::string& implementation() const { return implementation_; }
  /// Whether the library fell back to slow reference loops.
  bool is_reference() const { return implementation_.find("ref") != std::string::npos; }

private:
  Library library_;
  dnnl::primitive primitive_;
  std::vector<std::pair<int, dnnl::memory::desc>> operands_;
  dnnl::memory::desc scratchpad_;
  std::string implementation_;
  int threads_; ///< that it was made for
};

dnnl::memory::data_type data_type(DType dtype);

/// Weights as (O, I, H, W) or (O, I), row-major.
dnnl::memory::desc plain_weights(const Shape& shape, DType dtype);

bool is_f32(const dnnl::memory::desc& description);

/// Returns the positions of the elements of a blocked layout.
BlockedLayout layout_of(const dnnl::memory::desc& description);

/// Takes weights in the given layout, or in the library's preferred one if null. Returns nothing if
/// the library has no implementation for the layout.
std::optional<Primitive> convolution_forward(const Library& library,
                                             const ConvolutionProblem& problem,
                                             const dnnl::memory::desc* weights,
                                             const Epilogue& epilogue = {});
std::optional<Primitive> convolution_backward_data(const Library& library,
                                                   const ConvolutionProblem& problem,
                                                   const dnnl::memory::desc* weights);
/// dweight is always f32.
std::optional<Primitive> convolution_backward_weights(const Library& library,
                                                      const ConvolutionProblem& problem,
                                                      const dnnl::memory::desc* weights);

/// A row-major matrix, or the transpose of one.
struct Matrix {
  std::int64_t rows, columns;
  bool transposed = false; ///< stored as (columns, rows)
  DType dtype = DType::f32;
  std::int64_t distance = 0; ///< elements from one row in memory to the next; 0: no gaps
  bool packed = false;       ///< in the library's preferred layout, which replaces all of the above

  std::int64_t row_distance() const {
    return distance > 0 ? distance : transposed ? rows : columns;
  }
};

dnnl::memory::desc describe(const Matrix& matrix);

/// Final operations on a product before it is rounded.
struct ProductEnd {
  bool accumulate = false; ///< the product is added to c
  bool bias = false;       ///< an f32 bias of each column is added
};

/// c = a * b [+ bias] [+ c].
Primitive matmul(const Library& library, const Matrix& a, const Matrix& b, const Matrix& c,
                 const ProductEnd& end);

/// dweight = dy^T * x of a fully connected layer without bias. `dtype`: of x (rows, in) and dy
/// (rows, out); dweight, (out, in), is f32.
Primitive weight_gradient(const Library& library, std::int64_t rows, std::int64_t in,
                          std::int64_t out, DType dtype);

Primitive reorder(const Library& library, const dnnl::memory::desc& from,
                  const dnnl::memory::desc& to);

} // namespace troupe::cpu
