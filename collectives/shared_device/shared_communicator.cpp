#include "shared_communicator.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/cpu/host_stream.hpp"

#include <algorithm>
#include <vector>

namespace troupe::collectives {

namespace {

/// Small enough that a piece of every rank's buffer stays in the first-level cache.
constexpr std::size_t piece_elements = 1024;

/// Sums [begin, end) of all buffers in rank order, and gives the sum to all.
void reduce_slice(const std::vector<float*>& buffers, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; at += piece_elements) {
    const auto count = std::min(piece_elements, end - at);
    float* const sum = buffers[0] + at;
    for (std::size_t rank = 1; rank < buffers.size(); ++rank) {
      const float* const values = buffers[rank] + at;
      for (std::size_t i = 0; i < count; ++i)
        sum[i] += values[i];
    }
    for (std::size_t rank = 1; rank < buffers.size(); ++rank)
      std::copy_n(sum, count, buffers[rank] + at);
  }
}

} // namespace

void SharedCommunicator::all_reduce(Stream& stream, float* values, std::size_t elements) {
  const auto world = static_cast<std::size_t>(world_size());
  if (world == 1)
    return;
  const Operation operation{"all_reduce", sequence_++, elements, values};
  ++traffic_.operations;
  traffic_.bytes += 2 * (world - 1) * elements * sizeof(float) / world;
  static_cast<cpu::HostStream&>(stream).enqueue([rendezvous = rendezvous_, rank = rank_,
                                                 operation]() -> Status {
    const auto buffers = rendezvous->meet(rank, operation);
    if (!buffers)
      return failure(buffers.error());
    const auto ranks = buffers->size(), me = static_cast<std::size_t>(rank);
    reduce_slice(*buffers, operation.elements * me / ranks, operation.elements * (me + 1) / ranks);
    // Nobody may go on before all slices are written.
    const auto written = rendezvous->meet(rank, operation);
    return written ? Status{} : failure(written.error());
  });
}

void SharedCommunicator::broadcast(Stream& stream, float* values, std::size_t elements, int root) {
  if (world_size() == 1)
    return;
  const Operation operation{"broadcast", sequence_++, elements, values};
  ++traffic_.operations;
  traffic_.bytes += rank_ == root ? elements * sizeof(float) : 0;
  static_cast<cpu::HostStream&>(stream).enqueue([rendezvous = rendezvous_, rank = rank_, operation,
                                                 root]() -> Status {
    const auto buffers = rendezvous->meet(rank, operation);
    if (!buffers)
      return failure(buffers.error());
    if (rank != root)
      std::copy_n((*buffers)[static_cast<std::size_t>(root)], operation.elements, operation.values);
    const auto read = rendezvous->meet(rank, operation);
    return read ? Status{} : failure(read.error());
  });
}

} // namespace troupe::collectives
