#include "collectives/nccl/nccl_communicator.hpp"
#include "collectives/shared_device/cuda_communicator.hpp"
#include "tests/collectives/conformance/backend.hpp"

#include <stdexcept>
#include <thread>

namespace troupe::testing {

namespace {

using Devices = std::vector<std::shared_ptr<gpu::CudaDevice>>;
using Owners = std::vector<std::shared_ptr<collectives::NcclOwner>>;

/// Throws an exception with the error as its message.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result)
    throw std::runtime_error{result.error().to_string()};
  return std::move(*result);
}

Communicators connect_on_one_gpu(const std::shared_ptr<gpu::CudaDevice>& device, std::size_t ranks,
                                 std::chrono::milliseconds timeout) {
  return value_or_throw(collectives::make_shared_cuda_group(Devices(ranks, device), timeout));
}

/// Connects one GPU per rank, with access to the GPUs that it can reach. Ranks wait for each other,
/// so each connects on a separate thread.
Communicators connect_by_nccl(const Owners& owners, const Places& places,
                              std::chrono::milliseconds timeout) {
  for (const auto& owner : owners)
    for (const auto& reader : owners)
      if (const auto opened = owner->device().open_memory_to(reader->device());
          !opened && opened.error().code != Errc::unsupported)
        throw std::runtime_error{opened.error().to_string()};
  const auto id = value_or_throw(collectives::make_nccl_id(owners[0]->library()));
  const auto ranks = places.size();
  const auto world_size = static_cast<int>(ranks);
  std::vector<Result<std::unique_ptr<collectives::Communicator>>> results(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (int rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      const auto index = static_cast<std::size_t>(rank);
      results[index] = collectives::connect_nccl(
          owners[static_cast<std::size_t>(places[index])],
          {.rank = rank, .world_size = world_size, .id = id, .buffers = {}, .timeout = timeout});
    });
  for (auto& thread : threads)
    thread.join();
  Communicators group;
  for (auto& result : results)
    group.push_back(value_or_throw(std::move(result)));
  return group;
}

Devices all_devices() {
  Devices devices;
  for (int index = 0; index < gpu::cuda_device_count(); ++index)
    if (auto device = gpu::make_cuda_device(index))
      devices.push_back(std::move(*device));
  return devices;
}

Owners owners_of(const Devices& devices) {
  Owners owners;
  for (const auto& device : devices)
    if (auto owner = collectives::NcclOwner::create(device))
      owners.push_back(std::move(*owner));
  return owners;
}

} // namespace

std::vector<Backend> backends(std::string& why) {
  const auto devices = all_devices();
  if (devices.empty()) {
    why = "no CUDA device";
    return {};
  }
  std::vector<Backend> all = {
      {.name = "shared_device on one GPU",
       .connect =
           [device = devices[0]](const Places& places, std::chrono::milliseconds timeout) {
             return connect_on_one_gpu(device, places.size(), timeout);
           },
       .device = [device = devices[0]](int) -> std::shared_ptr<Device> { return device; }}};
  const auto owners = owners_of(devices);
  if (owners.size() == devices.size())
    all.push_back({.name = "nccl",
                   .connect =
                       [owners](const Places& places, std::chrono::milliseconds timeout) {
                         return connect_by_nccl(owners, places, timeout);
                       },
                   .device = [devices](int place) -> std::shared_ptr<Device> {
                     return devices[static_cast<std::size_t>(place)];
                   },
                   .most_ranks = static_cast<int>(devices.size()),
                   .in_rank_order = false,
                   .compares_calls = false,
                   .notices_leaving = false});
  return all;
}

} // namespace troupe::testing
