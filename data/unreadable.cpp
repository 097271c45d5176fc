#include "data/unreadable.hpp"

#include <fmt/format.h>

namespace troupe::data {

UnreadableFiles::UnreadableFiles()
    : notes_{fmt::format("more than {} files cannot be read: further files are only counted; "
                         "`troupe data check` lists all",
                         most_named)} {}

void UnreadableFiles::add(std::int64_t index, const Error& error) {
  ++samples_;
  notes_.add(index, fmt::format("skipped (data.skip_unreadable): {}", error.message));
}

} // namespace troupe::data
