/// Wakes another thread from poll(2).
#pragma once

#include "core/net/descriptor.hpp"

#include <cstdint>

#include <sys/eventfd.h>

namespace troupe::net {

class Wakeup {
public:
  /// Readable between signal() and clear().
  int number() const { return event_.number(); }
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(number(), &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(number(), &count, sizeof count);
  }

private:
  Descriptor event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

} // namespace troupe::net
