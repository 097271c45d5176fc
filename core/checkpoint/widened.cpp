#include "core/checkpoint/widened.hpp"

#include "core/fail.hpp"
#include "core/float16.hpp"

#include <algorithm>
#include <vector>

namespace troupe {

namespace {

constexpr std::size_t piece_elements = std::size_t{1} << 16;

/// Reads in chunks, so that the file's values are never in memory together with all converted ones.
template <class Stored, class Convert>
Status convert(const SafetensorsReader& reader, std::uint64_t at, std::span<float> into,
               const Convert& to_float) {
  std::vector<Stored> piece(std::min(piece_elements, into.size()));
  while (!into.empty()) {
    const auto stored = std::span{piece}.first(std::min(piece.size(), into.size()));
    TROUPE_TRY(reader.read(at, std::as_writable_bytes(stored)));
    std::ranges::transform(stored, into.begin(), to_float);
    into = into.subspan(stored.size());
    at += stored.size_bytes();
  }
  return {};
}

} // namespace

bool is_widened(std::string_view dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64";
}

Status read_widened(const SafetensorsReader& reader, const SafetensorsEntry& entry,
                    std::size_t first, std::span<float> into) {
  const auto at = entry.begin + first * safetensors_dtype_size(entry.dtype).value_or(0);
  if (entry.dtype == "F32")
    return reader.read(at, std::as_writable_bytes(into));
  if (entry.dtype == "F16")
    return convert<std::uint16_t>(reader, at, into, float_from_f16);
  if (entry.dtype == "BF16")
    return convert<std::uint16_t>(reader, at, into, float_from_bf16);
  if (entry.dtype == "F64")
    return convert<double>(reader, at, into,
                           [](double value) { return static_cast<float>(value); });
  return fail(Errc::internal, "{} is not a supported floating-point type", entry.dtype);
}

} // namespace troupe
