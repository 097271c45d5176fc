#include "tests/emulation/nccl/operation.hpp"

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

/// Sums `count` elements of all contributions, starting at element `skip`.
template <class T>
Bytes sum(const std::vector<Contribution>& brought, std::size_t skip, std::size_t count) {
  std::vector<double> sums(count);
  for (const auto& [operation, data] : brought)
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, data.data() + (skip + i) * sizeof(T), sizeof(T));
      sums[i] += as_double(value);
    }
  Bytes result(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = rounded<T>(sums[i]);
    std::memcpy(result.data() + i * sizeof(T), &value, sizeof(T));
  }
  return result;
}

Bytes sum_of(const std::vector<Contribution>& brought, std::size_t part) {
  const auto& [kind, count, type, peer] = brought.front().operation;
  const auto skip = part * count;
  switch (type) {
  case ncclFloat16:
    return sum<__half>(brought, skip, count);
  case ncclBfloat16:
    return sum<__nv_bfloat16>(brought, skip, count);
  case ncclFloat64:
    return sum<double>(brought, skip, count);
  case ncclInt32:
    return sum<std::int32_t>(brought, skip, count);
  case ncclUint8:
    return sum<std::uint8_t>(brought, skip, count);
  default:
    return sum<float>(brought, skip, count);
  }
}

Bytes all_of(const std::vector<Contribution>& brought) {
  Bytes result;
  for (const auto& each : brought)
    result.insert(result.end(), each.data.begin(), each.data.end());
  return result;
}

using Results = std::vector<BytesPtr>;

Results to_all(std::size_t ranks, Bytes result) {
  return Results(ranks, std::make_shared<const Bytes>(std::move(result)));
}

Results to_root(std::size_t ranks, int root, Bytes result) {
  auto results = to_all(ranks, {});
  results[static_cast<std::size_t>(root)] = std::make_shared<const Bytes>(std::move(result));
  return results;
}

Results scattered(const std::vector<Contribution>& brought) {
  Results results;
  for (std::size_t rank = 0; rank < brought.size(); ++rank)
    results.push_back(std::make_shared<const Bytes>(sum_of(brought, rank)));
  return results;
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

std::vector<BytesPtr> results_of(const std::vector<Contribution>& brought) {
  const auto& operation = brought.front().operation;
  const auto ranks = brought.size();
  switch (operation.kind) {
  case Kind::all_reduce:
    return to_all(ranks, sum_of(brought, 0));
  case Kind::reduce:
    return to_root(ranks, operation.peer, sum_of(brought, 0));
  case Kind::reduce_scatter:
    return scattered(brought);
  case Kind::all_gather:
    return to_all(ranks, all_of(brought));
  case Kind::broadcast:
    return to_all(ranks, brought[static_cast<std::size_t>(operation.peer)].data);
  default: // a message: the receiver gets the sender's data
    return to_root(ranks, 1, brought[0].data);
  }
}

} // namespace emulation::nccl
