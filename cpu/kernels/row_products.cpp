// A row times a matrix, limited by memory bandwidth: reads the rows of the matrix one after the
// other, with enough independent sums that none waits for the previous one.
#include "cpu/kernels/detail/bf16_vectors.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

constexpr std::size_t ways = 4;

template <class T>
float row_product(const float* x, const T* row, std::size_t columns) {
  Vector sums[ways] = {};
  std::size_t c = 0;
  for (; c + ways * lanes <= columns; c += ways * lanes)
    for (std::size_t way = 0; way < ways; ++way)
      sums[way] += load_vector(x + c + way * lanes) * load_lanes(row + c + way * lanes);
  for (; c + lanes <= columns; c += lanes)
    sums[0] += load_vector(x + c) * load_lanes(row + c);
  const Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float sum = 0;
  for (std::size_t j = 0; j < lanes; ++j)
    sum += all[j];
  for (; c < columns; ++c)
    sum += x[c] * load(row, c);
  return sum;
}

template <class T>
void row_products(const float* x, const T* matrix, std::size_t columns, float* y,
                  std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row)
    y[row] = row_product(x, matrix + row * columns, columns);
}

} // namespace

void set_row_products(Kernels& kernels) {
  kernels.f32.row_products = row_products<float>;
  kernels.bf16.row_products = row_products<Bf16>;
  kernels.f16.row_products = row_products<F16>;
}

} // namespace troupe::cpu::TROUPE_VARIANT
