#include "tests/emulation/nccl/distant_group.hpp"

#include "tests/emulation/nccl/reception.hpp"

namespace emulation::nccl {

namespace {

using Call = Message::Call;

void tell(Member& member, const Message& message, Bytes bytes) {
  if (message.call == Call::complete)
    member.complete();
  else if (message.call == Call::answer)
    member.answer(message.number, std::make_shared<const Bytes>(std::move(bytes)));
  else
    member.fail(message.why);
}

} // namespace

void DistantGroup::join(const std::shared_ptr<Member>& member, const Place& place) {
  auto socket = Socket::connected(name_of_listener(place_));
  if (!socket)
    return member->fail(ncclSystemError);
  connection_ = std::make_shared<Connection>(std::move(socket));
  connection_->start(
      [member](const Message& message, Bytes bytes) { tell(*member, message, std::move(bytes)); },
      [member] { member->fail(ncclRemoteError); });
  connection_->send({.call = Call::join, .number = number_, .size = size_, .place = place});
}

void DistantGroup::bring(const Member&, std::uint64_t ticket, Contribution contribution) {
  if (connection_)
    connection_->send({.call = Call::bring, .number = ticket, .operation = contribution.operation},
                      std::move(contribution.data));
}

void DistantGroup::leave(const Member&) {
  if (!connection_)
    return;
  connection_->send({.call = Call::leave});
  connection_->close();
}

} // namespace emulation::nccl
