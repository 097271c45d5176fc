#include "fetcher.hpp"

#include "carried_error.hpp"
#include "detail/checkpoint_pieces.hpp"

#include "troupe/core/units.hpp"
#include "troupe/metrics/readable.hpp"

#include <fmt/format.h>

#include <cstring>

namespace troupe::actors {

namespace {

/// The most that are on their way at a time: one piece is sent while the next is asked for.
constexpr std::int64_t bytes_on_their_way = 2 * checkpoint_piece_bytes;

constexpr std::chrono::seconds between_lines{2};

Error lost_piece(const caf::error& error) {
  return carried(
      error,
      {Errc::network, "the leader's checkpoint does not come", {.actor = FetcherState::name}});
}

} // namespace

FetcherState::FetcherState(fetcher_actor::pointer self, FetcherSetup setup)
    : self_{self}, setup_{std::move(setup)}, lost_{self, setup_.timeouts.detection} {}

fetcher_actor::behavior_type FetcherState::make_behavior() {
  lost_.watch(setup_.membership);
  self_->set_down_handler([this](const caf::down_msg& down) {
    fail({Errc::network, "the node that leads the job is gone: " +
                             lost_.why(setup_.membership.node(), down.reason)});
  });
  return {[this](atom::fetch) -> caf::result<CheckpointPtr> {
    promise_ = self_->make_response_promise<CheckpointPtr>();
    // Not make_shared, which would fill it with zeros first.
    storage_.reset(new std::byte[static_cast<std::size_t>(setup_.bytes)]);
    setup_.say(fmt::format("fetching the leader's checkpoint ({})",
                           metrics::readable_bytes(static_cast<double>(setup_.bytes))));
    ask();
    return promise_;
  }};
}

void FetcherState::ask() {
  while (asked_ < setup_.bytes && asked_ < received_ + bytes_on_their_way) {
    self_->request(setup_.membership, setup_.timeouts.collective, atom::fetch_v, asked_)
        .then([this, offset = asked_](const std::string& piece) { take(offset, piece); },
              [this](const caf::error& error) {
                fail(error == caf::sec::request_timeout
                         ? Error{Errc::network, "no piece of the leader's checkpoint came within " +
                                                    format_duration(setup_.timeouts.collective)}
                         : lost_piece(error));
              });
    asked_ += checkpoint_piece_bytes;
  }
}

void FetcherState::take(std::int64_t offset, const std::string& piece) {
  const auto wanted = std::min(checkpoint_piece_bytes, setup_.bytes - offset);
  if (std::ssize(piece) != wanted)
    return fail({Errc::corrupt, "a piece of the leader's checkpoint has another size"});
  std::memcpy(storage_.get() + offset, piece.data(), piece.size());
  received_ += wanted;
  say_progress();
  if (received_ == setup_.bytes)
    await_others();
  else
    ask();
}

void FetcherState::say_progress() {
  if (Clock::now() < said_ + between_lines)
    return;
  said_ = Clock::now();
  setup_.say(fmt::format("fetching the leader's checkpoint: {}%", received_ * 100 / setup_.bytes));
}

/// A node that went on alone would wait in vain for ranks whose nodes still fetch.
void FetcherState::await_others() {
  self_->request(setup_.membership, caf::infinite, atom::fetch_v, setup_.bytes)
      .then([this](const std::string&) { deliver(); },
            [this](const caf::error& error) { fail(lost_piece(error)); });
}

void FetcherState::deliver() {
  auto checkpoint = join_pieces(std::move(storage_), setup_.bytes);
  if (!checkpoint)
    return fail(checkpoint.error());
  promise_.deliver(CheckpointPtr{std::make_shared<const Checkpoint>(*std::move(checkpoint))});
  self_->quit();
}

void FetcherState::fail(const Error& error) {
  promise_.deliver(carry(error));
  self_->quit();
}

} // namespace troupe::actors
