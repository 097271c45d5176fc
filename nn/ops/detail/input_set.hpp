/// A subset of a node's inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace troupe::nn {

/// A set of input positions, below 32.
class InputSet {
public:
  static constexpr InputSet only(std::initializer_list<unsigned> inputs) {
    std::uint32_t bits = 0;
    for (const auto input : inputs)
      bits |= 1u << input;
    return InputSet{bits};
  }
  static constexpr InputSet all_but(std::initializer_list<unsigned> inputs) {
    return InputSet{~only(inputs).bits_};
  }
  static constexpr InputSet all() { return all_but({}); }
  static constexpr InputSet none() { return only({}); }

  constexpr bool contains(std::size_t input) const { return (bits_ >> input & 1u) != 0; }
  bool operator==(const InputSet&) const = default;

private:
  constexpr explicit InputSet(std::uint32_t bits) : bits_{bits} {}

  std::uint32_t bits_;
};

} // namespace troupe::nn
