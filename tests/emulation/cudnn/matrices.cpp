#include "tests/emulation/cudnn/matrices.hpp"

#include <algorithm>
#include <limits>

namespace emulation::cudnn {

namespace {

Array in_rows(const Array& from) {
  return arranged(from, from.dims, row_major(from.dims));
}

/// Returns the matrix that a batch and a head of the result read.
const float* matrix_of(const Array& from, const Dims& dims, std::int64_t batch, std::int64_t head) {
  const auto own_batch = batch * from.dims[0] / dims[0], own_head = head * from.dims[1] / dims[1];
  return from.values.data() + own_batch * from.strides[0] + own_head * from.strides[1];
}

template <class Value, class Combine>
Array reduced(const Array& x, const Dims& dims, Value initial, Combine combine) {
  const auto strides = row_major(dims);
  std::vector<Value> all(static_cast<std::size_t>(elements_of(dims)), initial);
  const auto* next = x.values.data();
  const auto place = [&](std::size_t axis, std::int64_t i) {
    return i * dims[axis] / x.dims[axis] * strides[axis];
  };
  const auto step = dims[3] == 1 ? 0 : strides[3];
  for (std::int64_t i = 0; i < x.dims[0]; ++i)
    for (std::int64_t j = 0; j < x.dims[1]; ++j)
      for (std::int64_t k = 0; k < x.dims[2]; ++k) {
        auto* const row = all.data() + place(0, i) + place(1, j) + place(2, k);
        for (std::int64_t l = 0; l < x.dims[3]; ++l)
          row[l * step] = combine(row[l * step], static_cast<Value>(*next++));
      }
  return {dims, strides, {all.begin(), all.end()}};
}

} // namespace

// Almost all time of matrix products and convolutions is spent here.
[[gnu::target_clones("arch=haswell", "default")]] void
add_rows(float* to, std::int64_t count, const float* rows, std::int64_t stride,
         const float* factors, std::int64_t factor_count) {
  for (std::int64_t j = 0; j < factor_count; ++j)
    for (std::int64_t i = 0; i < count; ++i)
      to[i] += factors[j] * rows[j * stride + i];
}

Array multiply(const Array& a, const Array& b, const Dims& dims) {
  const auto left = in_rows(a), right = in_rows(b);
  Array c{dims, row_major(dims)};
  const auto depth = a.dims[3], columns = dims[3];
  auto* next = c.values.data();
  for (std::int64_t batch = 0; batch < dims[0]; ++batch)
    for (std::int64_t head = 0; head < dims[1]; ++head) {
      const auto* row = matrix_of(left, dims, batch, head);
      const auto* const rows = matrix_of(right, dims, batch, head);
      for (std::int64_t i = 0; i < dims[2]; ++i, row += depth, next += columns)
        add_rows(next, columns, rows, columns, row, depth);
    }
  return c;
}

Array reduce(const Array& x, cudnnReduceTensorOp_t mode, const Dims& dims) {
  const auto from = in_rows(x);
  if (mode == CUDNN_REDUCE_TENSOR_ADD)
    return reduced(from, dims, 0.0, [](double sum, double value) { return sum + value; });
  return reduced(from, dims, -std::numeric_limits<float>::infinity(),
                 [](float largest, float value) { return std::max(largest, value); });
}

} // namespace emulation::cudnn
