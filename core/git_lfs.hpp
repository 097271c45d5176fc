/// Git LFS pointers: small text files in place of content that git-lfs has not fetched.
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe {

/// Pointers are smaller than this.
inline constexpr std::uint64_t most_git_lfs_pointer_bytes = 1024;

/// Whether the first bytes of a file are those of a pointer.
constexpr bool is_git_lfs_pointer(std::string_view begin) {
  return begin.starts_with("version https://git-lfs.github.com/spec/");
}

/// Problem and remedy, to follow the file's name in a message.
inline constexpr std::string_view git_lfs_advice =
    "this is a git-lfs pointer, not the file itself: fetch it with `git lfs pull`";

} // namespace troupe
