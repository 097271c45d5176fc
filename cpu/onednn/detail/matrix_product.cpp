#include "cpu/onednn/detail/matrix_product.hpp"

#include "cpu/onednn/detail/step.hpp"
#include "cpu/parallel.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace troupe::cpu {

namespace {

/// Columns that are contiguous in any of the library's layouts.
constexpr std::int64_t packed_columns = 64;

bool is_f32(const Matrix& matrix) {
  return matrix.dtype == DType::f32;
}

/// Whether the library's `sgemm` divides a sum over many rows badly: for gradients of small weights
/// it reaches 150 GFLOP/s, `matmul` 210. From about a million elements on, `sgemm` is faster.
bool is_small_of_many_rows(const Matrix& a, const Matrix& c) {
  return a.transposed && a.columns >= 2048 && c.rows * c.columns <= 1 << 20;
}

/// Whether a^T and b are rows of dy and x, and c is a weight's gradient.
bool is_weight_gradient(const Matrix& a, const Matrix& b, const Matrix& c) {
  const bool without_gaps = a.distance == 0 && b.distance == 0 && c.distance == 0;
  return a.transposed && !b.transposed && !c.transposed && without_gaps && is_f32(c);
}

} // namespace

MatrixProduct::MatrixProduct(const Library& library, const Matrix& a, const Matrix& b,
                             const Matrix& c, ProductTeam team, const ProductEnd& end)
    : a_{a}, b_{b}, c_{c}, end_{end} {
  choose(library, team);
  if (primitive_)
    implementation_ = primitive_->implementation();
}

void MatrixProduct::choose(const Library& library, ProductTeam team) {
  const bool together = team == ProductTeam::together;
  const bool all_f32 = is_f32(a_) && is_f32(b_) && is_f32(c_) && !b_.packed && !end_.bias;
  if (together && all_f32 && !is_small_of_many_rows(a_, c_))
    return;
  if (together && !end_.accumulate && !is_f32(a_) && is_weight_gradient(a_, b_, c_)) {
    primitive_ = weight_gradient(library, b_.rows, b_.columns, a_.rows, b_.dtype);
    arguments_ = {DNNL_ARG_DIFF_DST, DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS};
  }
  if (primitive_ && !primitive_->is_reference())
    return;
  primitive_ = matmul(library, a_, b_, c_, end_);
  arguments_ = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
}

void MatrixProduct::run(const void* a, const void* b, void* c, void* scratchpad,
                        const void* bias) const {
  if (!primitive_)
    return multiply_f32(a, b, c);
  const std::array operands = {
      Operand{arguments_.a, const_cast<void*>(a)}, Operand{arguments_.b, const_cast<void*>(b)},
      Operand{arguments_.c, c}, Operand{DNNL_ARG_BIAS, const_cast<void*>(bias)}};
  primitive_->run({operands.data(), bias ? operands.size() : operands.size() - 1}, scratchpad);
}

void MatrixProduct::multiply_f32(const void* a, const void* b, void* c) const {
  if (inside_team())
    throw std::logic_error{"sgemm starts threads itself, but runs inside a thread team"};
  const auto letter = [](const Matrix& matrix) { return matrix.transposed ? 'T' : 'N'; };
  dnnl::error::wrap_c_api(dnnl_sgemm(letter(a_), letter(b_), c_.rows, c_.columns, a_.columns, 1.0f,
                                     static_cast<const float*>(a), a_.row_distance(),
                                     static_cast<const float*>(b), b_.row_distance(),
                                     end_.accumulate ? 1.0f : 0.0f, static_cast<float*>(c),
                                     c_.row_distance()),
                          "oneDNN could not multiply matrices");
}

WeightPacking::WeightPacking(const Library& library, const Matrix& weight,
                             const dnnl::memory::desc& packed)
    : packed_bytes_{aligned(packed.get_size())} {
  const auto plain = describe(weight);
  const std::int64_t blocks =
      weight.columns % packed_columns == 0 ? weight.columns / packed_columns : 1;
  const auto parts = std::min<std::int64_t>(blocks, threads());
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = blocks * part / parts * packed_columns;
    const std::int64_t end =
        part + 1 < parts ? blocks * (part + 1) / parts * packed_columns : weight.columns;
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
