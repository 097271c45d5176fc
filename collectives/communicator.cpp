#include "collectives/communicator.hpp"

namespace troupe::collectives {

void Communicator::run(Stream& stream, Call call) {
  if (call.kind == CallKind::send)
    call.sequence = sent_[static_cast<std::size_t>(call.peer)]++;
  else if (call.kind == CallKind::receive)
    call.sequence = received_[static_cast<std::size_t>(call.peer)]++;
  else
    call.sequence = sequence_++;
  ++traffic_.operations;
  traffic_.bytes += bytes_sent(call, rank_, world_size_);
  enqueue(stream, call);
}

} // namespace troupe::collectives
