#include "actors/node/waits.hpp"

#include "core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::actors {

namespace {

using namespace std::chrono_literals;

/// Drops milliseconds from times of a second and more.
std::string rounded(std::chrono::milliseconds time) {
  return format_duration(time < 1s ? time : std::chrono::floor<std::chrono::seconds>(time));
}

} // namespace

std::string how_long(const WaitStatus& wait) {
  const auto waited = rounded(std::chrono::milliseconds{wait.waited_ms});
  if (wait.limit_ms == 0)
    return waited;
  return fmt::format("{} of {}", waited, format_duration(std::chrono::milliseconds{wait.limit_ms}));
}

WaitStatus Waits::status(const Entry& entry, Time now) {
  const auto waited = std::chrono::floor<std::chrono::milliseconds>(now - entry.since);
  return {entry.what, std::max<std::int64_t>(waited.count(), 0), entry.limit.count()};
}

Waits::Row Waits::begin(std::string what, std::chrono::milliseconds limit, Time now) {
  std::unique_lock lock{table_->mutex};
  auto& entries = table_->entries;
  const auto entry = entries.insert(entries.end(), {std::move(what), now, limit});
  lock.unlock(); // if there is no memory for the pointer, its deleter takes the lock
  return {table_, {&*entry, [table = table_, entry](Entry*) {
                     const std::lock_guard lock{table->mutex};
                     table->entries.erase(entry);
                   }}};
}

WaitStatus Waits::shown(Time now) const {
  const std::lock_guard lock{table_->mutex};
  return table_->entries.empty() ? WaitStatus{} : status(table_->entries.back(), now);
}

void Waits::Row::rename(std::string what) {
  const std::lock_guard lock{table_->mutex};
  entry_->what = std::move(what);
}

void Waits::Row::take(const WaitStatus& told, Time now) {
  if (told.what.empty())
    return;
  const std::lock_guard lock{table_->mutex};
  entry_->what = told.what;
  entry_->limit = std::chrono::milliseconds{told.limit_ms};
  if (told.limit_ms > 0)
    entry_->since = now - std::chrono::milliseconds{told.waited_ms};
}

WaitStatus Waits::Row::status(Time now) const {
  const std::lock_guard lock{table_->mutex};
  return Waits::status(*entry_, now);
}

bool Waits::Row::has_limit() const {
  return status().limit_ms > 0;
}

bool Waits::Row::is_over(Time now) const {
  return has_limit() && left(now).count() == 0;
}

std::chrono::milliseconds Waits::Row::left(Time now) const {
  const auto wait = status(now);
  return std::chrono::milliseconds{std::max<std::int64_t>(wait.limit_ms - wait.waited_ms, 0)};
}

std::string Waits::Row::due(Time now) {
  constexpr int share = 10;
  const std::lock_guard lock{table_->mutex};
  const auto wait = Waits::status(*entry_, now);
  if (entry_->is_told || wait.limit_ms == 0 || wait.waited_ms * share < wait.limit_ms)
    return {};
  entry_->is_told = true;
  return fmt::format("still {} ({})", wait.what, how_long(wait));
}

} // namespace troupe::actors
