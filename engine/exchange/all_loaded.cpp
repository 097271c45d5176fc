#include "engine/exchange/all_loaded.hpp"

#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"

#include <array>
#include <vector>

namespace troupe::engine {

namespace {

/// Whether others live is seen elsewhere.
constexpr std::chrono::hours patience{24};

collectives::LinkName to_first(std::int32_t node) {
  return {.group = "loaded", .from = node, .to = 0};
}

/// The first node hears it of all others, and tells each that all have it.
Status collect(collectives::Meeting& meeting, const Seat& seat) {
  std::vector<net::Connection> others;
  std::array<std::byte, 1> word{};
  for (std::int32_t node = 1; node < std::ssize(seat.generation.nodes); ++node) {
    TROUPE_TRY(auto other, meeting.accept(to_first(node), patience));
    TROUPE_TRY(net::read_all(other, word, meeting.patience(patience)));
    others.push_back(std::move(other));
  }
  for (auto& other : others)
    TROUPE_TRY(net::write_all(other, word, meeting.patience(patience)));
  return {};
}

} // namespace

Status await_all_loaded(collectives::Meeting& meeting, const Seat& seat,
                        const TimeoutsConfig& timeouts) {
  if (seat.node == 0)
    return collect(meeting, seat);
  std::array<std::byte, 1> word{};
  TROUPE_TRY(auto first, meeting.connect(net::peer_endpoint(seat.generation.nodes.front().data),
                                         to_first(seat.node), timeouts.quorum));
  TROUPE_TRY(net::write_all(first, word, meeting.patience(patience)));
  return net::read_all(first, word, meeting.patience(patience));
}

} // namespace troupe::engine
