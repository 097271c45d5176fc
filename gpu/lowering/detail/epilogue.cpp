#include "gpu/lowering/detail/epilogue.hpp"

#include "gpu/kernels/elementwise.hpp"

namespace troupe::gpu {

namespace {

/// One kernel that reads and writes matrices of this size.
Traffic pass(std::int64_t rows, std::int64_t columns, DType type, int read, int written) {
  const auto bytes = static_cast<double>(rows * columns) * static_cast<double>(size_of(type));
  return {.read = read * bytes, .written = written * bytes, .launches = 1};
}

} // namespace

Traffic epilogue_traffic(const MatmulOptions& o) {
  switch (o.product) {
  case Product::forward: {
    Traffic traffic;
    for (const bool kernel : {o.bias, o.gelu})
      if (kernel)
        traffic += pass(o.rows, o.out, o.result, 1, 1);
    return traffic;
  }
  case Product::backward_data:
    return pass(o.rows, o.in, o.result, 2, 1);
  case Product::backward_weight:
    break;
  }
  return pass(o.rows, o.out, o.operands, 1, 0);
}

void launch_epilogue(const MatmulOptions& o, const NodeLaunch& l, void* product) {
  const auto elements = [&o](std::int64_t columns) {
    return static_cast<std::size_t>(o.rows * columns);
  };
  switch (o.product) {
  case Product::forward:
    if (o.bias)
      launch_bias(l.stream, o.result, product, l.in<float>(2), product, o.rows, o.out);
    if (o.gelu)
      launch_gelu(l.stream, o.result, product, l.out(0), elements(o.out), true);
    return;
  case Product::backward_data:
    return launch_gelu_backward(l.stream, o.result, product, l.in(2), product, elements(o.in),
                                true);
  case Product::backward_weight:
    return launch_bias_backward(l.stream, o.operands, l.in(0), l.out<float>(1), o.rows, o.out,
                                l.reductions);
  }
}

} // namespace troupe::gpu
