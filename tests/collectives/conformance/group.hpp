/// A group of ranks under test, and values in the memory of their devices.
#pragma once

#include "tests/collectives/conformance/backend.hpp"

#include <span>

namespace troupe::testing {

inline constexpr std::chrono::milliseconds long_time{20000};

/// A generator over the backends with that many ranks, one after the other; skips the test when
/// none has them.
Backend any_backend(int ranks);

struct Member {
  std::shared_ptr<Device> device;
  std::unique_ptr<collectives::Communicator> communicator;
  std::unique_ptr<Stream>
      stream; ///< last: it must be drained before the objects that it uses are destroyed
};

class Group {
public:
  Group(const Backend& backend, const Places& places,
        std::chrono::milliseconds timeout = long_time);
  /// Connects a group of ranks on the first devices.
  Group(const Backend& backend, int world_size, std::chrono::milliseconds timeout = long_time);

  std::size_t size() const { return members_.size(); }
  Member& operator[](std::size_t rank) { return members_[rank]; }
  auto begin() { return members_.begin(); }
  auto end() { return members_.end(); }
  /// Requires that all enqueued work has succeeded.
  void finish();

private:
  std::vector<Member> members_;
};

using Numbers = std::vector<double>;

/// Values of a given type in device memory, written and read as double.
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

/// Whole numbers whose sum over 8 ranks is exact in every type and in every order.
Numbers whole_numbers(std::size_t rank, std::size_t elements);
/// Numbers whose sums depend on the order of addition in f16, bf16 and f32.
Numbers rough_numbers(std::size_t rank, std::size_t elements);
/// Returns the sum of whole_numbers over the ranks.
Numbers sum_of_whole_numbers(std::size_t ranks, std::size_t elements);

inline constexpr DType every_type[] = {DType::f32, DType::bf16, DType::f16,
                                       DType::i32, DType::u8,   DType::f64};

} // namespace troupe::testing
