/// A host stream that the test controls: while it is held, work that actors enqueue on it waits,
/// and so do the messages that its thread would send them.
#pragma once

#include "cpu/host_stream.hpp"

#include <memory>
#include <utility>

namespace troupe::actors::test {

/// Holds a stream while actors act, and lets it work only while they are idle: no test depends on
/// which of the two is faster.
class HeldStream {
public:
  explicit HeldStream(std::shared_ptr<Stream> stream) : stream_{std::move(stream)} { hold(); }
  ~HeldStream() { gate_->reach({}); }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  /// Does all enqueued work, then holds the stream again.
  void work() {
    gate_->reach({});
    std::ignore = stream_->synchronize();
    hold();
  }
  /// Enqueues a failure with `error`.
  void break_down(Error error) {
    cpu::host_stream(*stream_).enqueue([error] { return Status{failure(error)}; });
  }

private:
  void hold() {
    gate_ = std::make_shared<cpu::HostEvent>();
    stream_->wait(gate_);
  }

  std::shared_ptr<Stream> stream_;
  std::shared_ptr<cpu::HostEvent> gate_;
};

} // namespace troupe::actors::test
