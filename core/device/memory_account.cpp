#include "core/device/memory_account.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace troupe {

void MemoryAccount::add(MemoryKind kind, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  const auto i = static_cast<std::size_t>(kind);
  use_.current[i] += bytes;
  use_.peak[i] = std::max(use_.peak[i], use_.current[i]);
  if (kind == MemoryKind::pinned)
    return;
  use_.total += bytes;
  use_.total_peak = std::max(use_.total_peak, use_.total);
}

void MemoryAccount::remove(MemoryKind kind, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  use_.current[static_cast<std::size_t>(kind)] -= bytes;
  if (kind != MemoryKind::pinned)
    use_.total -= bytes;
}

MemoryUse MemoryAccount::use() const {
  const std::lock_guard lock{mutex_};
  return use_;
}

CountedBuffer::CountedBuffer(void* data, std::size_t bytes, MemoryKind kind,
                             std::shared_ptr<MemoryAccount> account, std::function<void()> free)
    : data_{data}, bytes_{bytes}, kind_{kind}, account_{std::move(account)}, free_{
                                                                                 std::move(free)} {
  if (account_)
    account_->add(kind_, bytes_);
}

CountedBuffer::~CountedBuffer() {
  if (account_)
    account_->remove(kind_, bytes_);
  if (free_)
    free_();
}

std::string describe_bytes(std::size_t bytes) {
  constexpr std::array<std::string_view, 5> names = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < names.size(); ++unit)
    value /= 1024;
  return fmt::format("{:.3g} {}", value, names[unit]);
}

std::string describe(const MemoryUse& use) {
  std::string text;
  for (std::size_t i = 0; i < memory_kinds; ++i)
    if (use.current[i] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", describe_bytes(use.current[i]),
                          to_string(static_cast<MemoryKind>(i)));
  return text.empty() ? "nothing" : text;
}

} // namespace troupe
