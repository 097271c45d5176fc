/// A connection that is slower than loopback: forwards to a daemon, so many bytes a second back.
#pragma once

#include "troupe/core/net/socket.hpp"
#include "troupe/core/units.hpp"

#include <atomic>
#include <list>
#include <string>
#include <thread>

namespace troupe::testing {

class SlowLink {
public:
  /// What the daemon sends is slowed down, for each connection; what it receives is not.
  SlowLink(Endpoint daemon, double bytes_per_second);
  ~SlowLink();
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  /// HOST:PORT to connect to instead of the daemon's.
  std::string address() const { return to_string(Endpoint{"127.0.0.1", listener_.port}); }

private:
  struct Connection {
    net::Descriptor asking, asked;
    std::thread there, back;
  };
  void accept_all();
  void accept_one();
  void forward(int from, int to, double bytes_per_second) const;

  Endpoint daemon_;
  double bytes_per_second_;
  net::Listener listener_;
  std::atomic<bool> ended_ = false;
  std::list<Connection> connections_;
  std::thread accepting_;
};

} // namespace troupe::testing
