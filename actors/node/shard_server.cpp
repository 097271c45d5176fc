#include "actors/node/detail/checked_chunks.hpp"
#include "actors/node/detail/shard_link.hpp"
#include "actors/node/detail/shards_description.hpp"
#include "actors/node/shard_transfer.hpp"
#include "core/fail.hpp"

#include <mutex>
#include <optional>
#include <thread>

namespace troupe::actors {

/// Serves one node that lacks parts, on its own thread.
class ShardServer::Client {
public:
  Client(std::shared_ptr<collectives::ConnectionGroup> connection_group, collectives::LinkName link,
         std::shared_ptr<const training::RetainedState> retained, const TimeoutsConfig& timeouts)
      : connection_group_{std::move(connection_group)}, link_{std::move(link)},
        held_{std::move(retained)}, timeouts_{timeouts}, thread_{[this] {
          std::ignore = serve(); // the reader notices and reports it
        }} {}

  ~Client() {
    stopped_.cancel({Errc::stopped, "these shards are no longer served"});
    connection_group_->look_again();
    const std::lock_guard lock{mutex_};
    if (connection_)
      connection_->shut_down();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

private:
  Status serve() {
    TROUPE_TRY(auto connection, connection_group_->accept(link_, timeouts_.quorum, {}, &stopped_));
    {
      const std::lock_guard lock{mutex_};
      TROUPE_TRY(stopped_.status());
      connection_.emplace(std::move(connection));
    }
    TROUPE_TRY(describe());
    while (true)
      TROUPE_TRY(answer());
  }

  Status describe() {
    const auto description = to_bytes(*held_);
    const std::uint64_t size = description.size();
    const auto io_deadline = connection_group_->io_deadline(timeouts_.collective);
    TROUPE_TRY(net::write_all(*connection_, std::as_bytes(std::span{&size, 1}), io_deadline));
    return send(description);
  }

  Status answer() {
    ShardRequest request;
    TROUPE_TRY(net::read_all(*connection_, std::as_writable_bytes(std::span{&request, 1}),
                             connection_group_->io_deadline(shards_io_deadline)));
    const auto& parts = held_->parts;
    if (request.part >= parts.size() || request.first > parts[request.part].values.size() ||
        request.elements > parts[request.part].values.size() - request.first)
      return fail(Errc::corrupt, "a node requested values that no shard of the state contains");
    return send(std::as_bytes(parts[request.part].values.subspan(request.first, request.elements)));
  }

  Status send(std::span<const std::byte> bytes) {
    const auto io_deadline = connection_group_->io_deadline(timeouts_.collective);
    ChunkSender sender{*connection_, io_deadline};
    TROUPE_TRY(sender.add(bytes));
    return sender.finish();
  }

  std::shared_ptr<collectives::ConnectionGroup> connection_group_;
  collectives::LinkName link_;
  std::shared_ptr<const training::RetainedState> held_;
  TimeoutsConfig timeouts_;
  net::Cancellation stopped_;
  std::mutex mutex_; ///< of connection_
  std::optional<net::Connection> connection_;
  std::jthread thread_; ///< declared last: it uses the other members
};

ShardServer::ShardServer(const std::shared_ptr<collectives::ConnectionGroup>& connection_group,
                         const training::NodeAssignment& assignment,
                         const std::shared_ptr<const training::RetainedState>& retained,
                         const TimeoutsConfig& timeouts) {
  const auto me = static_cast<std::size_t>(assignment.node);
  for (std::size_t node = 0; node < assignment.generation.nodes.size(); ++node)
    if (reads_from(assignment.generation, node, me))
      clients_.push_back(
          std::make_unique<Client>(connection_group, shard_link(node, me), retained, timeouts));
}

ShardServer::~ShardServer() = default;

} // namespace troupe::actors
