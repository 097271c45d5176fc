#include "cpu/onednn/detail/packed_weights.hpp"

#include "cpu/onednn/detail/step.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

/// Columns that are contiguous in any of the library's layouts.
constexpr std::int64_t block = 64;

} // namespace

WeightPacking::WeightPacking(const Library& library, const Matrix& weight,
                             const dnnl::memory::desc& packed)
    : packed_bytes_{aligned(packed.get_size())} {
  const auto plain = describe(weight);
  const std::int64_t blocks = weight.columns % block == 0 ? weight.columns / block : 1;
  const auto parts = std::min<std::int64_t>(blocks, threads());
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = blocks * part / parts * block;
    const std::int64_t end =
        part + 1 < parts ? blocks * (part + 1) / parts * block : weight.columns;
    const dnnl::memory::dims at{0, begin}, size{weight.rows, end - begin};
    parts_.push_back(
        reorder(library, plain.submemory_desc(size, at), packed.submemory_desc(size, at)));
    part_bytes_ = std::max(part_bytes_, aligned(parts_.back().scratchpad_bytes()));
  }
}

void WeightPacking::run(const std::byte* weight, std::byte* packed) const {
  parallel_parts(parts_.size(), [&](std::size_t part, std::size_t) {
    parts_[part].run({{DNNL_ARG_FROM, const_cast<std::byte*>(weight)}, {DNNL_ARG_TO, packed}},
                     packed + packed_bytes_ + part * part_bytes_);
  });
}

} // namespace troupe::cpu
