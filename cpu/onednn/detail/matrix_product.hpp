/// Matrix products by the library.
#pragma once

#include "cpu/onednn/detail/primitives.hpp"

namespace troupe::cpu {

/// Threads of a product: all of the library's threads together (Step::by_library_threads), or only
/// the calling thread, inside a team.
enum class ProductTeam : std::uint8_t { together, alone };

/// c = a * b, with a ProductEnd. The library has several implementations and does not choose
/// between them. For large matrices that all threads multiply together, `sgemm` is the fastest for
/// f32: it copies its operands into blocks, so that rows at a distance of a large power of two do
/// not fall into the same cache lines. For the gradients of bf16 weights, an inner product's
/// backward is the fastest. Everything else uses `matmul`, including gradients of small f32
/// weights. Only `matmul` reads packed weights and adds a bias.
class MatrixProduct {
public:
  MatrixProduct(const Library& library, const Matrix& a, const Matrix& b, const Matrix& c,
                ProductTeam team = ProductTeam::together, const ProductEnd& end = {});

  /// `bias`: f32 values, if the product ends with one.
  void run(const void* a, const void* b, void* c, void* scratchpad,
           const void* bias = nullptr) const;
  /// Layout of packed weights.
  const dnnl::memory::desc& packed_layout() const {
    return primitive_->description(DNNL_ARG_WEIGHTS);
  }
  std::size_t scratchpad_bytes() const { return primitive_ ? primitive_->scratchpad_bytes() : 0; }
  /// The library's name of the implementation.
  const std::string& implementation() const { return implementation_; }

private:
  /// Indices of the operands among a primitive's arguments.
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

/// Packs a weight into a product's packed_layout() each time it is needed, into memory shared with
/// other steps. A permanent copy would be as large as the weight, and would also be repacked after
/// every update.
class WeightPacking {
public:
  /// `weight`: f32, as the product's second operand.
  WeightPacking(const Library& library, const Matrix& weight, const dnnl::memory::desc& packed);

  /// Bytes of the packed weight and of scratch for packing.
  std::size_t bytes() const { return packed_bytes_ + parts_.size() * part_bytes_; }
  void run(const std::byte* weight, std::byte* packed) const;

private:
  std::vector<Primitive> parts_; ///< by columns: the team's threads pack concurrently
  std::size_t packed_bytes_, part_bytes_ = 0;
};

} // namespace troupe::cpu
