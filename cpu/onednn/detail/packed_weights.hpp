/// Weights as the library's products of 16-bit matrices like them best.
#pragma once

#include "cpu/onednn/detail/primitives.hpp"

namespace troupe::cpu {

/// Packs a weight each time it is needed, into memory that other steps use as well: a copy that
/// lasts would be as large as the weight, and be made again after every update, too.
class WeightPacking {
public:
  /// `weight`: f32, as the product's second operand.
  WeightPacking(const Library& library, const Matrix& weight, const dnnl::memory::desc& packed);

  /// Of the packed weight, and of what packing it takes.
  std::size_t bytes() const { return packed_bytes_ + parts_.size() * part_bytes_; }
  void run(const std::byte* weight, std::byte* packed) const;

private:
  std::vector<Primitive> parts_; ///< of columns: the team's threads pack side by side
  std::size_t packed_bytes_, part_bytes_ = 0;
};

} // namespace troupe::cpu
