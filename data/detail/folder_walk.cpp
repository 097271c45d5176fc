#include "data/detail/folder_walk.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>
#include <utility>

#include <sys/stat.h>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

/// Device and inode: identify a folder regardless of links.
using Identity = std::pair<dev_t, ino_t>;

Result<Identity> identity_of(const fs::path& folder) {
  struct ::stat status {};
  if (::stat(folder.c_str(), &status) != 0)
    return fail(Errc::io, "{}: {}", echoed(folder.string()), std::strerror(errno));
  return Identity{status.st_dev, status.st_ino};
}

Result<std::vector<fs::directory_entry>> sorted_entries(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator at{folder, error}, end; !error && at != end; at.increment(error))
    entries.push_back(*at);
  if (error)
    return fail(Errc::io, "{}: {}", echoed(folder.string()), error.message());
  std::ranges::sort(entries);
  return entries;
}

class FolderWalk {
public:
  explicit FolderWalk(bool (*wants)(const fs::path&)) : wants_{wants} {}

  Result<FolderFiles> run(const fs::path& folder) {
    std::error_code ignored;
    add_parents(fs::canonical(folder, ignored));
    add_parents(fs::absolute(folder, ignored).lexically_normal());
    if (const auto identity = identity_of(folder)) // a path that ends in a slash is its own parent
      visited_.erase(*identity);
    folders_.push_back(folder);
    while (!folders_.empty() || !links_.empty())
      TROUPE_TRY(read(take_next()));
    return std::move(found_);
  }

private:
  void add_parents(fs::path path) {
    while (path.has_relative_path()) {
      path = path.parent_path();
      if (const auto identity = identity_of(path))
        visited_.insert(*identity);
    }
  }

  fs::path take_next() {
    auto& from = folders_.empty() ? links_ : folders_;
    auto next = std::move(from.front());
    from.pop_front();
    return next;
  }

  Status read(const fs::path& folder) {
    TROUPE_TRY(const auto identity, identity_of(folder));
    if (!visited_.insert(identity).second)
      return {};
    TROUPE_TRY(const auto entries, sorted_entries(folder));
    for (const auto& entry : entries)
      add(entry);
    return {};
  }

  void add(const fs::directory_entry& entry) {
    std::error_code ignored;
    const auto& path = entry.path();
    if (path.filename().native().starts_with('.'))
      ++found_.left_out.hidden;
    else if (entry.is_directory(ignored))
      (entry.is_symlink(ignored) ? links_ : folders_).push_back(path);
    else if (!entry.exists(ignored))
      ++found_.left_out.unread["broken link"];
    else if (!wants_(path))
      found_.left_out.add_unread(path);
    else
      (entry.is_regular_file(ignored) ? found_.files : found_.irregular).push_back(path);
  }

  bool (*wants_)(const fs::path&);
  std::deque<fs::path> folders_, links_; ///< not yet read
  std::set<Identity> visited_;
  FolderFiles found_;
};

} // namespace

Result<FolderFiles> walk_folder(const fs::path& folder, bool (*wants)(const fs::path& file)) {
  return FolderWalk{wants}.run(folder);
}

} // namespace troupe::data
