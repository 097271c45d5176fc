/// The connections of one member of a group with the other members. The members are the ranks of a
/// ring, or the nodes that exchange messages.
#pragma once

#include "collectives/data_plane/connection_group.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace troupe::collectives {

struct ChannelOptions {
  int member = 0;                           ///< this end
  std::vector<Endpoint> endpoints = {};     ///< of each member's process
  std::string group = {};                   ///< unique in its connection group
  std::chrono::milliseconds timeout{30000}; ///< longest wait without a byte to or from a member
  std::chrono::milliseconds connect_timeout{60000}; ///< for all members to connect
  std::string noun = "rank";                        ///< a member in messages

  int size() const { return static_cast<int>(endpoints.size()); }
};

/// Two members that exchange values have a connection in each direction, opened on first use. If a
/// member aborts, it closes its connections, so that the others fail too.
class Channel {
public:
  Channel(ChannelOptions options, std::shared_ptr<ConnectionGroup> connection_group)
      : options_{std::move(options)},
        connection_group_{std::move(connection_group)}, timeout_{options_.connect_timeout} {}

  const ChannelOptions& options() const { return options_; }
  /// Return the connection to, or from, a member; block until it is open. One thread calls them at
  /// a time. Errors: network; the reason for which the channel or its connection group ended.
  Result<net::Connection*> to(int member);
  Result<net::Connection*> from(int member);
  /// All members have connected: from now on, waits end after the timeout for values.
  void connected() { timeout_ = options_.timeout; }
  std::chrono::milliseconds timeout() const { return timeout_; }

  /// Closes all connections and ends all waits. Only the first reason counts. Thread-safe.
  void abort(const Error& reason);
  /// The reason of abort(). Thread-safe.
  const net::Cancellation& aborted() const { return aborted_; }

private:
  using Connections = std::map<int, net::Connection>; ///< by member

  Result<net::Connection*> add(Connections& connections, int member,
                               Result<net::Connection> connection);
  const Endpoint& endpoint(int member) const {
    return options_.endpoints[static_cast<std::size_t>(member)];
  }

  ChannelOptions options_;
  std::shared_ptr<ConnectionGroup> connection_group_;
  std::chrono::milliseconds timeout_;
  net::Cancellation aborted_;
  std::mutex mutex_; ///< guards additions to the following, and abort()
  Connections outgoing_, incoming_;
};

} // namespace troupe::collectives
