#include "tests/emulation/nccl/reception.hpp"

#include "tests/emulation/nccl/connection.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

namespace emulation::nccl {

namespace {

using Call = Message::Call;

/// A rank of another process in a group of this process.
class PendingConnection final : public Member,
                                public std::enable_shared_from_this<PendingConnection> {
public:
  explicit PendingConnection(std::shared_ptr<Connection> connection)
      : connection_{std::move(connection)} {}

  void complete() override { connection_->send({.call = Call::complete}); }
  void answer(std::uint64_t ticket, BytesPtr result) override {
    connection_->send({.call = Call::answer, .number = ticket}, *result);
  }
  void fail(ncclResult_t why) override { connection_->send({.call = Call::fail, .why = why}); }

  void take(const Message& message, Bytes bytes) {
    if (message.call == Call::join)
      group_ = group_of(message.number, message.size);
    if (message.call == Call::join)
      group_->join(shared_from_this(), message.place);
    else if (message.call == Call::bring)
      group_->bring(*this, message.number, {message.operation, std::move(bytes)});
    else
      group_->leave(*this);
  }
  /// Reports a rank that has not left before as lost: it was killed with its process.
  void gone() {
    if (group_)
      group_->lose(*this);
  }

private:
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<LocalGroup> group_; ///< null: it has not joined
};

void receive(Socket socket) {
  const auto connection = std::make_shared<Connection>(std::move(socket));
  const auto pending = std::make_shared<PendingConnection>(connection);
  connection->start(
      [pending](const Message& message, Bytes bytes) { pending->take(message, std::move(bytes)); },
      [pending] { pending->gone(); });
}

std::uint64_t open_listener() {
  std::random_device random;
  const auto place = std::uint64_t{random()} << 32 | random();
  auto listening = Socket::listening(name_of_listener(place));
  if (!listening) {
    std::perror("the emulated NCCL cannot listen");
    std::abort();
  }
  std::thread{[listening = std::move(listening)] {
    while (auto socket = listening.accept())
      receive(std::move(socket));
  }}.detach();
  return place;
}

} // namespace

std::uint64_t listener() {
  static const auto place = open_listener();
  return place;
}

std::string name_of_listener(std::uint64_t place) {
  return "troupe-emulated-nccl-" + std::to_string(place);
}

std::shared_ptr<LocalGroup> group_of(std::uint64_t number, int size) {
  static std::mutex mutex;
  static auto* const groups = new std::map<std::uint64_t, std::weak_ptr<LocalGroup>>;
  const std::lock_guard lock{mutex};
  auto group = (*groups)[number].lock();
  if (!group)
    (*groups)[number] = group = std::make_shared<LocalGroup>(size);
  return group;
}

} // namespace emulation::nccl
