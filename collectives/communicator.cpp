#include "collectives/communicator.hpp"

namespace troupe::collectives {

namespace {

class SingleRankCommunicator final : public Communicator {
public:
  explicit SingleRankCommunicator(std::shared_ptr<Device> device)
      : Communicator{0, 1}, device_{std::move(device)} {}

  void abort(const Error& /*reason*/) override {}

private:
  void enqueue(Stream& stream, const Call& call) override {
    if (!call.all || call.all == call.data())
      return;
    const bool scatters = call.kind == CallKind::reduce_scatter;
    device_->copy(stream, scatters ? call.data() : call.all, scatters ? call.all : call.data(),
                  call.values.bytes());
  }

  std::shared_ptr<Device> device_;
};

} // namespace

void Communicator::run(Stream& stream, Call call) {
  if (call.kind == CallKind::send)
    call.sequence = sent_[static_cast<std::size_t>(call.peer)]++;
  else if (call.kind == CallKind::receive)
    call.sequence = received_[static_cast<std::size_t>(call.peer)]++;
  else
    call.sequence = sequence_++;
  traffic_ += bytes_sent(call, rank_, world_size_);
  enqueue(stream, call);
}

std::unique_ptr<Communicator> make_single_rank_communicator(std::shared_ptr<Device> device) {
  return std::make_unique<SingleRankCommunicator>(std::move(device));
}

} // namespace troupe::collectives
