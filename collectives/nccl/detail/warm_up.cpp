#include "collectives/nccl/detail/warm_up.hpp"

#include <array>

namespace troupe::collectives {

namespace {

constexpr std::size_t few = 64;
/// Numbers of f32 elements: messages of 256 B, 64 KiB and 1 MiB.
constexpr std::array<std::size_t, 3> sizes = {few, std::size_t{1} << 14, std::size_t{1} << 18};
constexpr std::size_t largest_bytes = sizes.back() * sizeof(float);
constexpr DType every_type[] = {DType::f32, DType::f16, DType::bf16,
                                DType::i32, DType::u8,  DType::f64};

/// Places a rank's values at the beginning of the buffer, those of all ranks after them.
class Calls {
public:
  explicit Calls(std::byte* buffer) : buffer_{buffer} {}

  std::vector<Call> all;

  void add(CallKind kind, std::size_t elements, DType type, int peer = 0) {
    all.push_back({.kind = kind,
                   .values = {buffer_, elements, type},
                   .all = buffer_ + largest_bytes,
                   .peer = peer});
  }
  void add_sums(std::size_t elements, DType type) {
    for (const auto kind : {CallKind::all_reduce, CallKind::reduce_scatter, CallKind::reduce})
      add(kind, elements, type);
  }
  void add_moves(std::size_t elements) {
    for (const auto kind : {CallKind::all_gather, CallKind::broadcast, CallKind::gather})
      add(kind, elements, DType::f32);
  }

private:
  std::byte* buffer_;
};

} // namespace

std::size_t warm_up_bytes(int world_size) {
  return (static_cast<std::size_t>(world_size) + 1) * largest_bytes;
}

std::vector<Call> warm_up_calls(int world_size, std::byte* buffer) {
  Calls calls{buffer};
  for (const auto size : sizes) {
    calls.add_sums(size, DType::f32);
    calls.add_moves(size);
  }
  for (const auto type : every_type)
    calls.add_sums(few, type);
  for (int distance = 0; distance < world_size; ++distance) // 0: to itself, as the root of a gather
    calls.add(CallKind::shift, few, DType::f32, distance);
  calls.add(CallKind::barrier, 0, DType::f32);
  return std::move(calls.all);
}

} // namespace troupe::collectives
