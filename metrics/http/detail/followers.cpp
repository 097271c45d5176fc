#include "metrics/http/detail/followers.hpp"

#include <algorithm>
#include <string_view>

namespace troupe::metrics {

namespace {

/// In seconds. Proxies may close a connection that is silent for longer.
constexpr int longest_silence = 14;

EventText event_text(std::string_view name, std::string_view data) {
  auto text = std::make_shared<std::string>("event: ");
  text->append(name).append("\ndata: ");
  for (const char c : data) {
    text->push_back(c);
    if (c == '\n') // an empty line would end the event
      text->append("data: ");
  }
  text->append("\n\n");
  return text;
}

EventText sign_of_life() {
  return std::make_shared<const std::string>(": nothing new\n\n");
}

} // namespace

EventText Followers::document() const {
  return event_text("document", run_.document());
}

void Followers::add(EventSink& sink) {
  if (followers_.empty())
    run_.watched(true);
  followers_.push_back({&sink});
  sink.send(document());
}

void Followers::remove(const EventSink& sink) {
  const auto removed =
      std::erase_if(followers_, [&](const Follower& follower) { return follower.sink == &sink; });
  if (removed > 0 && followers_.empty())
    run_.watched(false);
}

void Followers::clear() {
  if (!followers_.empty())
    run_.watched(false);
  followers_.clear();
}

void Followers::tick() {
  if (followers_.empty())
    return;
  const auto data = run_.changes();
  const auto changes = data.empty() ? EventText{} : event_text("changes", data);
  EventText whole; // made on first use, shared by all
  for (auto& follower : followers_)
    serve(follower, changes, whole);
}

bool Followers::know_all() const {
  return std::ranges::all_of(followers_, [](const Follower& follower) {
    return follower.sink->is_free() && !follower.behind;
  });
}

void Followers::serve(Follower& follower, const EventText& changes, EventText& whole) {
  ++follower.quiet;
  if (!follower.sink->is_free()) {
    follower.behind = follower.behind || changes;
    return;
  }
  auto next = changes;
  if (follower.behind)
    next = whole = whole ? whole : document();
  else if (!changes && follower.quiet >= longest_silence)
    next = sign_of_life();
  if (!next)
    return;
  follower.sink->send(std::move(next));
  follower.behind = false;
  follower.quiet = 0;
}

} // namespace troupe::metrics
