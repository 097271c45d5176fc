#include "core/checkpoint/widened.hpp"
#include "tests/support/safetensors_file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

template <class T>
std::vector<float> read_back(std::string_view dtype, const std::vector<T>& values) {
  const ScratchFolder folder;
  const auto path = folder / "a.safetensors";
  const Shape shape{static_cast<std::int64_t>(values.size())};
  REQUIRE(write_safetensors(path, {},
                            {{"w", std::string{dtype}, shape, std::as_bytes(std::span{values})}}));
  const auto reader = SafetensorsReader::open(path);
  REQUIRE(reader);
  std::vector<float> widened(values.size());
  REQUIRE(read_widened(*reader, reader->entries()[0], 0, widened));
  return widened;
}

} // namespace

TEST_CASE("weights of every floating-point type are read as f32") {
  const std::vector<float> expected = {1, -2, 0.5f};
  CHECK(read_back<float>("F32", expected) == expected);
  CHECK(read_back<std::uint16_t>("F16", {0x3c00, 0xc000, 0x3800}) == expected);
  CHECK(read_back<std::uint16_t>("BF16", {0x3f80, 0xc000, 0x3f00}) == expected);
  CHECK(read_back<double>("F64", {1 + 1e-12, -2, 0.5}) == expected);
  CHECK_FALSE(is_widened("I64"));
  CHECK_FALSE(is_widened("F8_E4M3"));
}

TEST_CASE("a tensor of several chunks is cast to f32 completely") {
  std::vector<std::uint16_t> halves(200'000, 0x3c00);
  halves.front() = 0xc000;
  halves.back() = 0x3800;
  const auto widened = read_back<std::uint16_t>("F16", halves);
  CHECK(widened.front() == -2);
  CHECK(widened[100'000] == 1);
  CHECK(widened.back() == 0.5f);
}
