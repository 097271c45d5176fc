#include "operation.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

namespace emulation::nccl {

namespace {

template <class T>
double as_double(T value) {
  return static_cast<double>(value);
}
double as_double(__half value) {
  return static_cast<double>(__half2float(value));
}
double as_double(__nv_bfloat16 value) {
  return static_cast<double>(__bfloat162float(value));
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, __half>)
    return __double2half(value);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __double2bfloat16(value);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(value)); // sums wrap
  else
    return static_cast<T>(value);
}

/// Of `count` elements that begin `skip` elements into what each rank brought.
template <class T>
std::vector<std::byte> sum(const std::map<int, Operation>& came, std::size_t skip,
                           std::size_t count) {
  std::vector<double> sums(count);
  for (const auto& [rank, operation] : came)
    for (std::size_t i = 0; i < count; ++i)
      sums[i] += as_double(static_cast<const T*>(operation.from)[skip + i]);
  std::vector<std::byte> result(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = rounded<T>(sums[i]);
    std::memcpy(result.data() + i * sizeof(T), &value, sizeof(T));
  }
  return result;
}

std::vector<std::byte> sum_of(ncclDataType_t type, const std::map<int, Operation>& came,
                              std::size_t skip, std::size_t count) {
  switch (type) {
  case ncclFloat16:
    return sum<__half>(came, skip, count);
  case ncclBfloat16:
    return sum<__nv_bfloat16>(came, skip, count);
  case ncclFloat64:
    return sum<double>(came, skip, count);
  case ncclInt32:
    return sum<std::int32_t>(came, skip, count);
  case ncclUint8:
    return sum<std::uint8_t>(came, skip, count);
  default:
    return sum<float>(came, skip, count);
  }
}

void append(std::vector<std::byte>& to, const Operation& operation) {
  const auto* const begin = static_cast<const std::byte*>(operation.from);
  to.insert(to.end(), begin, begin + operation.count * size_of(operation.type));
}

} // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclFloat64:
    return 8;
  case ncclUint8:
    return 1;
  default:
    return 4;
  }
}

std::vector<std::byte> result_of(const std::map<int, Operation>& came, int rank) {
  const auto& own = came.at(rank);
  std::vector<std::byte> result;
  switch (own.kind) {
  case Kind::all_reduce:
    return sum_of(own.type, came, 0, own.count);
  case Kind::reduce:
    return rank == own.peer ? sum_of(own.type, came, 0, own.count) : result;
  case Kind::reduce_scatter:
    return sum_of(own.type, came, static_cast<std::size_t>(rank) * own.count, own.count);
  case Kind::all_gather:
    for (const auto& [other, operation] : came)
      append(result, operation);
    return result;
  default:
    append(result, came.at(own.peer)); // a broadcast's root
    return result;
  }
}

} // namespace emulation::nccl
