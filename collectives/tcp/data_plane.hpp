/// The connections that values travel by, from process to process: beside the actors' own.
#pragma once

#include "core/config/cluster.hpp"
#include "core/error.hpp"
#include "core/net/connection.hpp"
#include "core/net/io_deadline.hpp"
#include "core/units.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace troupe::collectives {

class ConnectionListener;

/// One a process.
struct DataPlaneOptions {
  Endpoint listen;                          ///< port 0: a free one
  TlsConfig tls = {};                       ///< all connections are encrypted, where it is on
  std::chrono::milliseconds handshake = {}; ///< for whoever connects to say what he wants
};

/// A connection in one direction, from a member of a group to another.
struct LinkName {
  std::string group; ///< differs for every group of a generation
  std::int32_t from = 0, to = 0;
};

/// Computed from a generation's secret, which it does not reveal; proves that a process knows it
/// (detail/hello.hpp).
using GenerationKey = std::array<std::byte, 32>;

/// The connections of one generation. From any thread.
class ConnectionGroup {
public:
  ConnectionGroup(std::shared_ptr<ConnectionListener> listener, std::int64_t generation,
                  const GenerationKey& key)
      : listener_{std::move(listener)}, generation_{generation}, key_{key} {}

  std::int64_t generation() const { return generation_; }
  /// To the process that listens there. Blocks until it is connected. Errors: network; whatever
  /// the meeting was cancelled for.
  Result<net::Connection> connect(const Endpoint& to, const LinkName& link,
                                  std::chrono::milliseconds timeout);
  /// Blocks until that member has connected, or `stop` is requested. Errors: as above.
  Result<net::Connection> accept(const LinkName& link, std::chrono::milliseconds timeout,
                                 const std::stop_token& stop = {});
  /// Whoever accepts looks whether he was told to stop.
  void look_again() const;

  /// Ends whatever waits in this meeting, with this error; nothing connects in it any more. What
  /// is connected stays so. The first reason counts.
  void cancel(const Error& reason);
  /// The reason, if there is one.
  Status status() const;
  /// The same, waiting for one so long.
  Status await_reason(std::chrono::milliseconds timeout) const;
  /// For waiting on its connections.
  net::IoDeadline io_deadline(std::chrono::milliseconds timeout) const {
    return {timeout, &cancelled_};
  }

private:
  tl::unexpected<Error> because(const Error& error) const;

  std::shared_ptr<ConnectionListener> listener_;
  std::int64_t generation_;
  GenerationKey key_;
  net::Wakeup cancelled_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> reason_;
};

/// Listens for what other processes connect, for all generations. A process that has not been told
/// a generation's secret cannot take part in it.
class DataPlane {
public:
  /// Errors: network, invalid_input: as of net::listen_on and net::open_tls.
  static Result<std::shared_ptr<DataPlane>> open(const DataPlaneOptions& options);

  std::uint16_t port() const;
  /// The same meeting for the same generation, until there is another.
  std::shared_ptr<ConnectionGroup> join_group(std::int64_t generation, const std::string& secret);
  /// For so long, answers those that probe this node's data port and know the ticket.
  void answer_probes(const std::string& ticket, const std::string& node,
                     std::chrono::milliseconds limit);
  /// Whether that node's data plane answers there (answer_probes), perhaps after several attempts:
  /// it may get the ticket later. Blocks at most for the limit, and while a name is looked up.
  /// Error: network, with the last attempt's.
  Status probe(const std::string& node, const Endpoint& to, const std::string& ticket,
               std::chrono::milliseconds limit) const;
  /// No more probes of others: those under way end with an error.
  void end_probes() { probes_ended_.signal(); }
  /// The meeting of this generation, if it is the last one.
  void cancel(std::int64_t generation, const Error& reason);

private:
  explicit DataPlane(std::shared_ptr<ConnectionListener> listener)
      : listener_{std::move(listener)} {}

  std::shared_ptr<ConnectionListener> listener_;
  net::Wakeup probes_ended_; ///< stays signalled
  std::mutex mutex_;
  std::shared_ptr<ConnectionGroup> connection_group_;
};

/// A secret that nobody guesses: 32 hex characters. Error: internal, where the system has none.
Result<std::string> make_secret();

} // namespace troupe::collectives
