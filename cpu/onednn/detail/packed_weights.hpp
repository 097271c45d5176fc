/// Weights in the layout that the library's products of 16-bit matrices prefer.
#pragma once

#include "cpu/onednn/detail/primitives.hpp"

namespace troupe::cpu {

/// Packs a weight each time it is needed, into memory shared with other steps. A permanent copy
/// would be as large as the weight, and would also be repacked after every update.
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
