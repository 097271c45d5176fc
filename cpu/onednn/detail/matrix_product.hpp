/// Products of matrices by the library.
#pragma once

#include "cpu/onednn/detail/primitives.hpp"

namespace troupe::cpu {

/// Who computes a product: all of the library's threads together (Step::by_library_threads), or the
/// thread that calls, inside of a team.
enum class ProductTeam : std::uint8_t { together, alone };

/// c = a * b, with ends as in ProductEnd. The library has several ways, and does not choose between
/// them: for large matrices, which all threads multiply together, `sgemm` is the fastest for f32,
/// as it copies what it reads into blocks, where rows whose distance is a large power of two do not
/// fall into the same lines of a cache, and an inner product's backward for the gradients of bf16
/// weights. All else is `matmul`'s, gradients of small f32 weights, too; it alone reads packed
/// weights, and adds a bias.
class MatrixProduct {
public:
  MatrixProduct(const Library& library, const Matrix& a, const Matrix& b, const Matrix& c,
                ProductTeam team = ProductTeam::together, const ProductEnd& end = {});

  /// `bias`: f32 values, where the product ends with one.
  void run(const void* a, const void* b, void* c, void* scratchpad,
           const void* bias = nullptr) const;
  /// How packed weights lie.
  const dnnl::memory::desc& packed_layout() const {
    return primitive_->description(DNNL_ARG_WEIGHTS);
  }
  std::size_t scratchpad_bytes() const { return primitive_ ? primitive_->scratchpad_bytes() : 0; }
  /// The library's name of the way.
  const std::string& implementation() const { return implementation_; }

private:
  /// The numbers of operands among a primitive's arguments.
  struct Arguments {
    int a, b, c;
  };

  void choose(const Library& library, ProductTeam team);
  void multiply_f32(const void* a, const void* b, void* c) const;

  Matrix a_, b_, c_;
  ProductEnd end_;
  Arguments arguments_{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
  std::optional<Primitive> primitive_; ///< none: sgemm
  std::string implementation_ = "sgemm";
};

} // namespace troupe::cpu
