/// Ranks that live in one process and share the host's memory: each reads the others' buffers and
/// reduces its own slice.
#pragma once

#include "rendezvous.hpp"
#include "troupe/collectives/communicator.hpp"

#include <memory>

namespace troupe::collectives {

class SharedCommunicator : public Communicator {
public:
  /// All ranks share one rendezvous. Streams passed to the calls must be host streams.
  SharedCommunicator(std::shared_ptr<Rendezvous> rendezvous, int rank)
      : rendezvous_{std::move(rendezvous)}, rank_{rank} {}

  int rank() const override { return rank_; }
  int world_size() const override { return rendezvous_->world_size(); }
  void all_reduce(Stream& stream, float* values, std::size_t elements) override;
  void broadcast(Stream& stream, float* values, std::size_t elements, int root) override;
  Traffic traffic() const override { return traffic_; }
  void abort(const Error& reason) override { rendezvous_->abort(reason); }

private:
  std::shared_ptr<Rendezvous> rendezvous_;
  int rank_;
  std::int64_t sequence_ = 0;
  Traffic traffic_;
};

} // namespace troupe::collectives
