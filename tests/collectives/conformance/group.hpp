/// A group of ranks under test, and values in their devices' memory.
#pragma once

#include "tests/collectives/conformance/backend.hpp"

#include <span>

namespace troupe::testing {

inline constexpr std::chrono::milliseconds long_time{20000};

/// One after the other that has so many ranks, in a generator; skips the test where there is none.
Backend any_backend(int ranks);

struct Member {
  std::shared_ptr<Device> device;
  std::unique_ptr<collectives::Communicator> communicator;
  std::unique_ptr<Stream> stream; ///< last: it is drained before what it uses goes
};

class Group {
public:
  Group(const Backend& backend, const Places& places,
        std::chrono::milliseconds timeout = long_time);
  /// At the first places.
  Group(const Backend& backend, int world_size, std::chrono::milliseconds timeout = long_time);

  std::size_t size() const { return members_.size(); }
  Member& operator[](std::size_t rank) { return members_[rank]; }
  auto begin() { return members_.begin(); }
  auto end() { return members_.end(); }
  /// Requires that all that was enqueued has succeeded.
  void finish();

private:
  std::vector<Member> members_;
};

using Numbers = std::vector<double>;

/// Values of a type in a device's memory, written and read as double.
class DeviceValues {
public:
  DeviceValues(Member& member, DType type, const Numbers& numbers);

  collectives::Values values() const { return part(0, elements_); }
  collectives::Values part(std::size_t begin, std::size_t elements) const;
  void* data() const { return buffer_->data(); }
  std::vector<std::byte> bytes() const;
  Numbers read() const;

private:
  Member& member_;
  DType type_;
  std::size_t elements_;
  BufferPtr buffer_;
};

/// Whole numbers; a sum over 8 ranks is exact in every type, in every order.
Numbers whole_numbers(std::size_t rank, std::size_t elements);
/// Numbers whose sums depend on the order in f16, bf16 and f32.
Numbers rough_numbers(std::size_t rank, std::size_t elements);
/// The sum of whole_numbers over the ranks.
Numbers sum_of_whole_numbers(std::size_t ranks, std::size_t elements);

inline constexpr DType every_type[] = {DType::f32, DType::bf16, DType::f16,
                                       DType::i32, DType::u8,   DType::f64};

} // namespace troupe::testing
