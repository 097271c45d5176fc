// Compares block-quantized values, with one scale per block, with an independent definition, bit by
// bit.
#include "core/device/quantized.hpp"
#include "core/random.hpp"
#include "tests/devices/test_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::size_t block = 128;
/// Bytes and floats after the output that must stay unchanged.
constexpr std::size_t guard = 64;
constexpr std::uint8_t untouched_byte = 0xab;
constexpr float untouched_float = -12345.0f;

constexpr QuantizedType both_types[] = {QuantizedType::int8, QuantizedType::int4};

struct Reference {
  std::vector<float> scales;
  std::vector<int> codes; ///< padded to whole blocks
};

float reference_scale(const std::vector<float>& values, std::size_t begin, std::size_t end,
                      float steps) {
  float largest = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(values[i]))
      return std::bit_cast<float>(0x7fc00000u);
    largest = std::max(largest, std::abs(values[i]));
  }
  if (largest == 0)
    return 0;
  return std::max(std::min(largest, 0x1.fffffp127f) / steps, FLT_MIN);
}

int reference_code(float value, float scale, float steps) {
  if (!(scale > 0))
    return 0;
  return static_cast<int>(std::clamp(std::nearbyint(value / scale), -steps, steps));
}

Reference reference(QuantizedType type, const std::vector<float>& values) {
  const float steps = type == QuantizedType::int8 ? 127 : 7;
  Reference made;
  for (std::size_t begin = 0; begin < values.size(); begin += block) {
    const std::size_t end = std::min(begin + block, values.size());
    made.scales.push_back(reference_scale(values, begin, end, steps));
    for (std::size_t i = begin; i < begin + block; ++i)
      made.codes.push_back(i < end ? reference_code(values[i], made.scales.back(), steps) : 0);
  }
  return made;
}

std::vector<std::uint8_t> encoded_form(QuantizedType type, const Reference& reference) {
  std::vector<std::uint8_t> bytes(reference.scales.size() * sizeof(float));
  std::memcpy(bytes.data(), reference.scales.data(), bytes.size());
  if (type == QuantizedType::int8)
    for (const int code : reference.codes)
      bytes.push_back(static_cast<std::uint8_t>(code));
  else
    for (std::size_t i = 0; i < reference.codes.size(); i += 2)
      bytes.push_back(static_cast<std::uint8_t>((reference.codes[i] & 15) |
                                                (reference.codes[i + 1] & 15) * 16));
  return bytes;
}

std::vector<float> normals_of(std::size_t n, float factor = 1) {
  CounterRng random{7, 1};
  std::vector<float> values(n);
  for (float& value : values)
    value = random.normal() * factor;
  return values;
}

/// Returns values whose magnitude changes from block to block, from zero and denormals to the
/// largest floats.
std::vector<float> values_of_all_sizes(std::size_t n) {
  constexpr float factors[] = {1, 0, 1e-3f, 1e-37f, 1e-39f, 1e-44f, 1e30f, 0x1p124f, 0, 1e-20f};
  auto values = normals_of(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] *= factors[i / block % std::size(factors)];
  return values;
}

std::vector<float> filled(std::size_t n, float value) {
  return std::vector<float>(n, value);
}

/// Returns normal values with another value in the middle.
std::vector<float> values_with(std::size_t n, float value) {
  auto values = normals_of(n);
  values[n / 2] = value;
  return values;
}

/// Returns values whose codes before rounding are multiples of a half, because the scale is a power
/// of two.
std::vector<float> ties(std::size_t n, float steps) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = static_cast<float>(static_cast<int>(i % block) - 64) * 0x1p-5f;
  for (std::size_t i = 0; i < n; i += block)
    values[i] = -steps * 0x1p-4f;
  return values;
}

struct QuantizeFixture {
  QuantizeFixture() : device{device_or_skip()}, stream{device->create_stream({"compute", 2})} {}

  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;

  /// Returns the output memory after the stream has quantized `values`, which begin at float
  /// `skew`.
  std::vector<std::uint8_t> quantize(QuantizedType type, const std::vector<float>& values,
                                     std::size_t skew) {
    auto skewed = filled(skew, 0);
    skewed.insert(skewed.end(), values.begin(), values.end());
    const DeviceVector<float> source{*device, *stream, skewed};
    const auto bytes = skew * sizeof(float) + quantized_bytes(type, values.size()) + guard;
    const DeviceVector<std::uint8_t> encoded{*device, *stream,
                                             std::vector<std::uint8_t>(bytes, untouched_byte)};
    device->quantize(*stream, source.data() + skew, encoded.data() + skew * sizeof(float), type,
                     values.size());
    const auto found = encoded.read();
    return {found.begin() + static_cast<std::ptrdiff_t>(skew * sizeof(float)), found.end()};
  }

  std::vector<float> dequantize(QuantizedType type, const std::vector<std::uint8_t>& bytes,
                                std::size_t n, std::size_t skew) {
    const DeviceVector<std::uint8_t> encoded{*device, *stream, bytes};
    const DeviceVector<float> decoded{*device, *stream, filled(skew + n + guard, untouched_float)};
    device->dequantize(*stream, encoded.data(), type, decoded.data() + skew, n);
    const auto found = decoded.read();
    REQUIRE(std::count(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(skew),
                       untouched_float) == static_cast<std::ptrdiff_t>(skew));
    return {found.begin() + static_cast<std::ptrdiff_t>(skew), found.end()};
  }

  void check(QuantizedType type, const std::vector<float>& values, std::size_t skew) {
    const auto n = values.size();
    const auto expected = reference(type, values);
    auto bytes = encoded_form(type, expected);
    REQUIRE(bytes.size() == quantized_bytes(type, n));
    bytes.insert(bytes.end(), guard, untouched_byte);
    REQUIRE(quantize(type, values, skew) == bytes);
    check_decoded(values, expected, dequantize(type, bytes, n, skew));
  }

  static void check_decoded(const std::vector<float>& values, const Reference& expected,
                            const std::vector<float>& found) {
    const auto n = values.size();
    for (std::size_t i = 0; i < n; ++i) {
      const float scale = expected.scales[i / block];
      INFO(i << ": " << values[i] << ", scale " << scale << ", decoded " << found[i]);
      if (std::isnan(scale)) {
        REQUIRE(std::isnan(found[i]));
        continue;
      }
      const float decoded = static_cast<float>(expected.codes[i]) * scale;
      REQUIRE(std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(decoded));
      REQUIRE(std::abs(double{found[i]} - double{values[i]}) <= double{scale} / 2 * 1.0005);
    }
    for (std::size_t i = n; i < found.size(); ++i)
      REQUIRE(found[i] == untouched_float);
  }
};

} // namespace

TEST_CASE("the encoded size is the number of blocks times the block size") {
  for (const auto type : both_types) {
    const std::size_t bytes = type == QuantizedType::int8 ? 4 + 128 : 4 + 64;
    CHECK(quantized_bytes(type, 0) == 0);
    CHECK(quantized_bytes(type, 1) == bytes);
    CHECK(quantized_bytes(type, 128) == bytes);
    CHECK(quantized_bytes(type, 129) == 2 * bytes);
    CHECK(quantized_bytes(type, 1000) == 8 * bytes);
  }
}

TEST_CASE_METHOD(QuantizeFixture, "quantized values are restored as defined") {
  for (const auto type : both_types)
    for (const std::size_t n : {1u, 127u, 128u, 129u, 1000u, 70001u})
      for (const std::size_t skew : {0u, 1u}) { // the second is not 16-byte aligned
        INFO("n " << n << ", skew " << skew);
        check(type, normals_of(n), skew);
        check(type, values_of_all_sizes(n), skew);
      }
}

TEST_CASE_METHOD(QuantizeFixture, "zero, tiny and huge values are quantized") {
  for (const auto type : both_types)
    for (const std::size_t n : {1u, 129u, 1000u}) {
      check(type, ties(n, type == QuantizedType::int8 ? 127 : 7), 0);
      for (const float value : {0.0f, -0.0f, 1e-45f, FLT_MIN, 1e-38f, -3e38f, FLT_MAX, -FLT_MAX})
        check(type, filled(n, value), 0);
      for (const float value : {1e-45f, 1e30f, FLT_MAX, -FLT_MAX})
        check(type, values_with(n, value), 0);
    }
}

TEST_CASE_METHOD(QuantizeFixture, "a value that is not finite makes only its block NaN") {
  for (const auto type : both_types)
    for (const float value : {NAN, -NAN, INFINITY, -INFINITY}) {
      check(type, values_with(1, value), 0);
      check(type, values_with(1000, value), 0);
    }
}

TEST_CASE_METHOD(QuantizeFixture, "no values are quantized to no bytes") {
  for (const auto type : both_types)
    check(type, {}, 1);
}
