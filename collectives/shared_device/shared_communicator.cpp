#include "collectives/shared_device/shared_communicator.hpp"

#include "collectives/detail/sums.hpp"
#include "collectives/shared_device/detail/exchange.hpp"
#include "cpu/host_stream.hpp"

#include <cstring>

namespace troupe::collectives {

namespace {

class HostMemory final : public SharedMemory {
public:
  void copy(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void sum(DType type, std::span<const void* const> sources, void* sum,
           std::size_t elements) override {
    sum_in_order(type, sources, sum, elements);
  }
  /// A chunk stays in the first-level cache until it is copied to the other ranks.
  std::size_t piece_elements() const override { return 1024; }
  Status finish() override { return {}; }
};

class SharedCommunicator final : public Communicator {
public:
  SharedCommunicator(const std::shared_ptr<Rendezvous>& rendezvous, int rank)
      : Communicator{rank, rendezvous->world_size()}, member_{std::make_shared<GroupMember>(
                                                          rendezvous, rank)} {}

  void abort(const Error& reason) override { member_->rendezvous->abort(reason); }

private:
  void enqueue(Stream& stream, const Call& call) override {
    cpu::host_stream(stream).enqueue([member = member_, call] {
      HostMemory memory;
      return exchange(*member, call, memory);
    });
  }

  std::shared_ptr<GroupMember> member_; ///< shared with enqueued calls: the rank leaves after them
};

} // namespace

std::vector<std::unique_ptr<Communicator>> make_shared_group(int world_size,
                                                             std::chrono::milliseconds timeout) {
  const auto rendezvous = std::make_shared<Rendezvous>(world_size, timeout);
  std::vector<std::unique_ptr<Communicator>> group;
  group.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank)
    group.push_back(std::make_unique<SharedCommunicator>(rendezvous, rank));
  return group;
}

} // namespace troupe::collectives
