/// Connections that are slower than loopback.
#pragma once

#include "core/net/socket.hpp"
#include "core/units.hpp"

#include <atomic>
#include <list>
#include <string>
#include <thread>

namespace troupe::testing {

class SlowLink {
public:
  /// Forwards connections to `host`, at the port of `to`, to `to`. Limits the speed of each
  /// connection in that direction, but not in the other.
  SlowLink(const std::string& host, Endpoint to, double bytes_per_second);
  ~SlowLink();
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

private:
  struct Connection {
    net::Descriptor asking, asked;
    std::thread there, back;
  };
  void accept_all();
  void accept_one();
  void forward(int from, int to, double bytes_per_second) const;

  Endpoint to_;
  double bytes_per_second_;
  net::Listener listener_;
  std::atomic<bool> ended_ = false;
  std::list<Connection> connections_;
  std::thread accepting_;
};

} // namespace troupe::testing
