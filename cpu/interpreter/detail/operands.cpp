#include "cpu/interpreter/detail/operands.hpp"

#include "core/float16.hpp"
#include "cpu/detail/sequence_places.hpp"

#include <cmath>

namespace troupe::cpu {

namespace {

/// Calls fn(T{}, widen, narrow) with the type in memory, and the conversions from it and to it.
template <class Fn>
auto with_stored(DType dtype, Fn fn) {
  const auto same = [](auto value) { return value; };
  switch (dtype) {
  case DType::bf16:
    return fn(std::uint16_t{}, float_from_bf16,
              [](double v) { return bf16_from_float(static_cast<float>(v)); });
  case DType::f16:
    return fn(std::uint16_t{}, float_from_f16,
              [](double v) { return f16_from_float(static_cast<float>(v)); });
  case DType::i32:
    return fn(std::int32_t{}, same, same);
  case DType::u8:
    return fn(std::uint8_t{}, same, same);
  default:
    return fn(float{}, same, same);
  }
}

} // namespace

double round_to(DType dtype, double value) {
  switch (dtype) {
  case DType::bf16:
    return static_cast<double>(float_from_bf16(bf16_from_float(static_cast<float>(value))));
  case DType::f16:
    return static_cast<double>(float_from_f16(f16_from_float(static_cast<float>(value))));
  case DType::i32:
  case DType::u8:
    return std::nearbyint(value);
  default:
    return static_cast<double>(static_cast<float>(value));
  }
}

Values load(const Tensor& tensor, const void* memory) {
  Values values(tensor.shape.count());
  with_stored(tensor.dtype, [&]<class T>(T, auto widen, auto) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(widen(static_cast<const T*>(memory)[i]));
  });
  return values;
}

void store(const Tensor& tensor, void* memory, const Values& values) {
  with_stored(tensor.dtype, [&]<class T>(T, auto, auto narrow) {
    for (std::size_t i = 0; i < values.size(); ++i)
      static_cast<T*>(memory)[i] = static_cast<T>(narrow(values[i]));
  });
}

Values Operands::read(std::size_t i) const {
  return load(input(i), at(node_.inputs[i]));
}

Values Operands::read_weight(std::size_t i, std::size_t like) const {
  auto values = read(i);
  for (auto& value : values)
    value = round_to(input(like).dtype, value);
  return values;
}

Values Operands::read_convolved(std::size_t i, std::size_t prologue) const {
  const auto& a = attributes<Conv2dAttributes>();
  return a.prologue ? read_normalized(i, prologue, a.residual) : read(i);
}

Values Operands::read_normalized(std::size_t i, std::size_t prologue, Residual added) const {
  auto values = read_scaled(i, prologue, added);
  for (auto& value : values)
    value = round_to(input(i).dtype, value < 0 ? 0 : value); // a NaN stays
  return values;
}

Values Operands::read_scaled(std::size_t i, std::size_t prologue, Residual added) const {
  auto values = read(i);
  const auto factor = read(prologue), offset = read(prologue + 1);
  const auto residual = added == Residual::none ? Values{} : read(prologue + 2);
  const bool scaled = added == Residual::normalized;
  const auto residual_factor = scaled ? read(prologue + 3) : Values{};
  const auto residual_offset = scaled ? read(prologue + 4) : Values{};
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto c = at % factor.size();
    values[at] = values[at] * factor[c] + offset[c];
    if (scaled)
      values[at] += residual[at] * residual_factor[c] + residual_offset[c];
    else if (!residual.empty())
      values[at] += residual[at];
  }
  return values;
}

void Operands::write(std::size_t i, const Values& values) const {
  store(output(i), at(node_.outputs[i]), values);
}

void Operands::write_mask(std::size_t i, const Values& y) const {
  std::vector<unsigned> bits(y.size() / 8);
  for (std::size_t at = 0; at < y.size(); ++at)
    bits[at / 8] |= (round_to(output(0).dtype, y[at]) > 0 ? 1U : 0U) << (at % 8);
  write(i, {bits.begin(), bits.end()});
}

Values Operands::read_mask(std::size_t i) const {
  const auto bits = read(i);
  Values mask(8 * bits.size());
  for (std::size_t at = 0; at < mask.size(); ++at)
    mask[at] = static_cast<unsigned>(bits[at / 8]) >> (at % 8) & 1U;
  return mask;
}

Result<std::size_t> Operands::read_first(std::size_t i, std::int64_t rows,
                                         std::int64_t places) const {
  const auto first = i < inputs() ? static_cast<std::int64_t>(read(i)[0]) : 0;
  TROUPE_TRY(check_places(first, rows, places));
  return static_cast<std::size_t>(first);
}

void Operands::write_back(std::size_t i, const Values& values) const {
  store(input(i), at(node_.inputs[i]), values);
}

} // namespace troupe::cpu
