#include "actors/roles/detail/line_copies.hpp"

#include <utility>

namespace troupe::actors {

void LineCopies::send_from(std::filesystem::path run, std::string opening) {
  run_ = std::move(run);
  opening_ = std::move(opening);
}

std::optional<metrics::HistoryPlace> LineCopies::place() const {
  return kept_ ? std::optional{kept_->place()} : std::nullopt;
}

void LineCopies::keep(const metrics::HistoryChunk& part) {
  const auto kept = kept_->add(part);
  errors_.warn(kept);
  if (!kept)
    kept_.reset();
}

metrics::HistoryChunk LineCopies::lines_after(const metrics::HistoryPlace& there) const {
  return run_.empty() ? metrics::HistoryChunk{} : metrics::read_history(run_, opening_, there);
}

Status LineCopies::hand_over() const {
  return kept_ ? kept_->hand_over() : Status{};
}

void LineCopies::remove() {
  if (kept_)
    kept_->remove();
}

} // namespace troupe::actors
