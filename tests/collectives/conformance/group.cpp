#include "tests/collectives/conformance/group.hpp"

#include "core/float16.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <cmath>
#include <cstring>
#include <numeric>

namespace troupe::testing {

namespace {

template <class T, class Convert>
std::vector<std::byte> encode_as(const Numbers& numbers, Convert convert) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const T value = convert(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <class T, class Convert>
Numbers decode_as(const std::vector<std::byte>& bytes, Convert convert) {
  Numbers numbers(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    numbers[i] = convert(value);
  }
  return numbers;
}

/// Calls fn(T{}, to T, from T) for the type's representation.
template <class Fn>
auto with_type(DType type, Fn fn) {
  const auto plain = [&]<class T>(T zero) {
    return fn(
        zero, [](double v) { return static_cast<T>(v); },
        [](T v) { return static_cast<double>(v); });
  };
  const auto half = [&](auto to, auto from) {
    return fn(
        std::uint16_t{}, [to](double v) { return to(static_cast<float>(v)); },
        [from](std::uint16_t v) { return static_cast<double>(from(v)); });
  };
  switch (type) {
  case DType::bf16:
    return half(bf16_from_float, float_from_bf16);
  case DType::f16:
    return half(f16_from_float, float_from_f16);
  case DType::i32:
    return plain(std::int32_t{});
  case DType::u8:
    return plain(std::uint8_t{});
  case DType::f64:
    return plain(double{});
  default:
    return plain(float{});
  }
}

std::vector<std::byte> encode(DType type, const Numbers& numbers) {
  return with_type(type, [&]<class T>(T, auto to, auto) { return encode_as<T>(numbers, to); });
}

Places first_places(int world_size) {
  Places places(static_cast<std::size_t>(world_size));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

} // namespace

Backend any_backend(int ranks) {
  std::string why = "no backend has so many ranks";
  auto all = backends(why);
  std::erase_if(all, [&](const Backend& backend) { return backend.most_ranks < ranks; });
  if (all.empty())
    SKIP(why);
  return all[GENERATE_REF(range(std::size_t{0}, all.size()))];
}

Group::Group(const Backend& backend, int world_size, std::chrono::milliseconds timeout)
    : Group{backend, first_places(world_size), timeout} {}

Group::Group(const Backend& backend, const Places& places, std::chrono::milliseconds timeout) {
  for (auto& communicator : backend.connect(places, timeout)) {
    const auto rank = static_cast<std::size_t>(communicator->rank());
    Member member{.device = backend.device(places[rank])};
    member.communicator = std::move(communicator);
    member.stream = member.device->create_stream({.name = "communication"});
    members_.push_back(std::move(member));
  }
}

void Group::finish() {
  for (auto& member : members_) {
    const auto status = member.stream->synchronize();
    INFO((status ? "" : status.error().to_string()));
    REQUIRE(status);
  }
}

DeviceValues::DeviceValues(Member& member, DType type, const Numbers& numbers)
    : member_{member}, type_{type}, elements_{numbers.size()} {
  const auto bytes = encode(type, numbers);
  // Allocates one byte for an empty tensor, so that its pointer is valid.
  buffer_ =
      member.device->allocate(std::max<std::size_t>(bytes.size(), 1), MemoryKind::data).value();
  member.device->copy(*member.stream, buffer_->data(), bytes.data(), bytes.size());
  REQUIRE(member.stream->synchronize());
}

collectives::Values DeviceValues::part(std::size_t begin, std::size_t elements) const {
  return {buffer_->data() + begin * size_of(type_), elements, type_};
}

std::vector<std::byte> DeviceValues::bytes() const {
  std::vector<std::byte> bytes(elements_ * size_of(type_));
  member_.device->copy(*member_.stream, bytes.data(), buffer_->data(), bytes.size());
  REQUIRE(member_.stream->synchronize());
  return bytes;
}

Numbers DeviceValues::read() const {
  return with_type(type_, [&]<class T>(T, auto, auto from) { return decode_as<T>(bytes(), from); });
}

Numbers whole_numbers(std::size_t rank, std::size_t elements) {
  Numbers numbers(elements);
  for (std::size_t i = 0; i < elements; ++i)
    numbers[i] = static_cast<double>((3 * rank + i) % 16);
  return numbers;
}

Numbers rough_numbers(std::size_t rank, std::size_t elements) {
  Numbers numbers(elements);
  for (std::size_t i = 0; i < elements; ++i)
    numbers[i] = std::sin(static_cast<double>(7 * rank + i + 1)) *
                 std::exp2(static_cast<double>((rank + i) % 5));
  return numbers;
}

Numbers sum_of_whole_numbers(std::size_t ranks, std::size_t elements) {
  Numbers sum(elements);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < elements; ++i)
      sum[i] += static_cast<double>((3 * rank + i) % 16);
  return sum;
}

} // namespace troupe::testing
