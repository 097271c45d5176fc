#include "data/left_out.hpp"

#include "core/escape.hpp"
#include "data/detail/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace troupe::data {

namespace {

constexpr std::size_t most_kinds = 10; // a folder may contain thousands of extensions

} // namespace

void LeftOut::add_unread(const std::filesystem::path& file) {
  const auto extension = lower_extension(file);
  ++unread[extension.empty() ? "without extension" : extension];
}

void LeftOut::add(const LeftOut& others) {
  hidden += others.hidden;
  for (const auto& [kind, count] : others.unread)
    unread[kind] += count;
}

std::string LeftOut::unread_text() const {
  std::int64_t files = 0;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : unread) {
    files += count;
    if (kinds.size() < most_kinds)
      kinds.push_back(fmt::format("{} {}", count, echoed(kind, 30)));
  }
  if (files == 0)
    return {};
  if (unread.size() > most_kinds)
    kinds.push_back(fmt::format("{} more kinds", unread.size() - most_kinds));
  return fmt::format("{} {} not read: {}", files, files == 1 ? "file is" : "files are",
                     fmt::join(kinds, ", "));
}

} // namespace troupe::data
