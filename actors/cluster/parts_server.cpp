#include "actors/cluster/detail/checked_chunks.hpp"
#include "actors/cluster/detail/parts_description.hpp"
#include "actors/cluster/detail/parts_link.hpp"
#include "actors/cluster/parts_transfer.hpp"
#include "core/fail.hpp"

#include <mutex>
#include <optional>

namespace troupe::actors {

/// One node that lacks parts, on a thread of its own.
class PartsServer::Client {
public:
  Client(std::shared_ptr<collectives::Meeting> meeting, collectives::LinkName link,
         std::shared_ptr<const engine::HeldState> held, const TimeoutsConfig& timeouts)
      : meeting_{std::move(meeting)}, link_{std::move(link)}, held_{std::move(held)},
        timeouts_{timeouts}, thread_{[this](const std::stop_token& stop) {
          std::ignore = serve(stop); // the reader notices and reports it
        }} {}

  ~Client() {
    thread_.request_stop();
    meeting_->look_again();
    const std::lock_guard lock{mutex_};
    if (connection_)
      connection_->shut_down();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

private:
  Status serve(const std::stop_token& stop) {
    TROUPE_TRY(auto connection, meeting_->accept(link_, timeouts_.quorum, stop));
    {
      const std::lock_guard lock{mutex_};
      if (stop.stop_requested())
        return {};
      connection_.emplace(std::move(connection));
    }
    TROUPE_TRY(describe());
    while (true)
      TROUPE_TRY(answer());
  }

  Status describe() {
    const auto description = to_bytes(*held_);
    const std::uint64_t size = description.size();
    const auto patience = meeting_->patience(timeouts_.collective);
    TROUPE_TRY(net::write_all(*connection_, std::as_bytes(std::span{&size, 1}), patience));
    return send(description);
  }

  Status answer() {
    PartRequest request;
    TROUPE_TRY(net::read_all(*connection_, std::as_writable_bytes(std::span{&request, 1}),
                             meeting_->patience(parts_patience)));
    const auto& parts = held_->parts;
    if (request.part >= parts.size() || request.first > parts[request.part].values.size() ||
        request.elements > parts[request.part].values.size() - request.first)
      return fail(Errc::corrupt, "a node asked for what no part of the state has");
    return send(std::as_bytes(parts[request.part].values.subspan(request.first, request.elements)));
  }

  Status send(std::span<const std::byte> bytes) {
    const auto patience = meeting_->patience(timeouts_.collective);
    ChunkSender sender{*connection_, patience};
    TROUPE_TRY(sender.add(bytes));
    return sender.finish();
  }

  std::shared_ptr<collectives::Meeting> meeting_;
  collectives::LinkName link_;
  std::shared_ptr<const engine::HeldState> held_;
  TimeoutsConfig timeouts_;
  std::mutex mutex_; ///< of connection_
  std::optional<net::Connection> connection_;
  std::jthread thread_; ///< last: it uses the others
};

PartsServer::PartsServer(const std::shared_ptr<collectives::Meeting>& meeting,
                         const engine::Seat& seat,
                         const std::shared_ptr<const engine::HeldState>& held,
                         const TimeoutsConfig& timeouts) {
  const auto me = static_cast<std::size_t>(seat.node);
  for (std::size_t node = 0; node < seat.generation.nodes.size(); ++node)
    if (reads_from(seat.generation, node, me))
      clients_.push_back(std::make_unique<Client>(meeting, parts_link(node, me), held, timeouts));
}

PartsServer::~PartsServer() = default;

} // namespace troupe::actors
