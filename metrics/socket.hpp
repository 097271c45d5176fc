/// Listening for TCP connections, with errors that say what to do.
#pragma once

#include "troupe/core/error.hpp"
#include "troupe/core/units.hpp"

#include <cstdint>
#include <utility>

#include <unistd.h>

namespace troupe::metrics {

/// Owns a file descriptor.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_;
};

struct Listener {
  Descriptor socket; ///< does not block
  std::uint16_t port = 0;
};

/// Port 0 takes a free one.
Result<Listener> listen_on(const Endpoint& endpoint);

/// HOST:PORT, with brackets around an IPv6 address.
std::string to_string(const Endpoint& endpoint);

} // namespace troupe::metrics
