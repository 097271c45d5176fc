// Element-wise work on activations.
#include "variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

namespace {

template <class T>
void widen(const T* __restrict source, float* __restrict destination, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    destination[i] = load(source, i);
}

template <class T>
void narrow(const float* __restrict source, T* __restrict destination, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    store(destination, i, source[i]);
}

template <class T>
void round(float* values, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i)
    values[i] = rounded<T>(values[i]);
}

template <class T>
void relu(const T* x, T* y, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i) {
    const float value = load(x, i);
    store(y, i, value < 0.0f ? 0.0f : value); // a NaN stays
  }
}

template <class T>
void relu_backward(const T* dy, const T* y, T* dx, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i)
    store(dx, i, load(y, i) > 0.0f ? load(dy, i) : 0.0f);
}

template <class T>
void add_elements(const T* a, const T* b, T* sum, std::size_t elements) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements; ++i)
    store(sum, i, load(a, i) + load(b, i));
}

template <class T>
void set(TypedKernels<T>& kernels) {
  kernels.widen = widen<T>;
  kernels.narrow = narrow<T>;
  kernels.round = round<T>;
  kernels.relu = relu<T>;
  kernels.relu_backward = relu_backward<T>;
  kernels.add = add_elements<T>;
}

} // namespace

void set_elementwise(Kernels& kernels) {
  set(kernels.f32);
  set(kernels.bf16);
  set(kernels.f16);
}

} // namespace troupe::cpu::TROUPE_VARIANT
