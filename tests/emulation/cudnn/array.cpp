#include "tests/emulation/cudnn/array.hpp"

namespace emulation::cudnn {

Array::Array(const Dims& of, const Dims& like)
    : dims{of}, strides{packed(of, like)}, values(static_cast<std::size_t>(elements_of(of))) {}

Array::Array(const Dims& of, const Dims& like, std::vector<float> from)
    : dims{of}, strides{packed(of, like)}, values(std::move(from)) {}

Array arranged(Array from, const Dims& dims, const Dims& like) {
  if (from.dims == dims && same_places(dims, from.strides, packed(dims, like)))
    return from;
  Array to{dims, like};
  Dims steps{};
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    steps[axis] = from.dims[axis] == 1 ? 0 : from.strides[axis];
  const auto [a, b, c, d] = outermost_first(like);
  auto* next = to.values.data();
  for (std::int64_t i = 0; i < dims[a]; ++i)
    for (std::int64_t j = 0; j < dims[b]; ++j)
      for (std::int64_t k = 0; k < dims[c]; ++k) {
        const auto* const row = from.values.data() + i * steps[a] + j * steps[b] + k * steps[c];
        for (std::int64_t l = 0; l < dims[d]; ++l)
          *next++ = row[l * steps[d]];
      }
  return to;
}

void round_to(Type type, std::vector<float>& values) {
  if (type != Type::f16 && type != Type::bf16)
    return;
  std::vector<std::uint16_t> rounded(values.size());
  store(values, rounded.data(), type);
  values = load(rounded.data(), values.size(), type);
}

Array read_array(const void* memory, Type type, const Dims& dims, const Dims& strides) {
  Array array{dims, strides, {}};
  array.values.reserve(static_cast<std::size_t>(elements_of(dims)));
  for (const auto& run : runs_of(dims, strides)) {
    const auto* const from =
        static_cast<const std::byte*>(memory) + static_cast<std::size_t>(run.first) * size_of(type);
    const auto values = load(from, static_cast<std::size_t>(run.count), type);
    array.values.insert(array.values.end(), values.begin(), values.end());
  }
  return array;
}

void write_array(const Array& array, void* memory, Type type, const Dims& strides) {
  const auto* next = array.values.data();
  for (const auto& run : runs_of(array.dims, strides)) {
    store({next, static_cast<std::size_t>(run.count)},
          static_cast<std::byte*>(memory) + static_cast<std::size_t>(run.first) * size_of(type),
          type);
    next += run.count;
  }
}

} // namespace emulation::cudnn
