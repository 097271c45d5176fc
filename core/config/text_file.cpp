#include "core/config/text_file.hpp"

#include "core/escape.hpp"
#include "core/git_lfs.hpp"
#include "core/suggestion.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace troupe {

namespace {

/// Limit for files given by mistake: a long one would keep YAML's parser busy.
constexpr std::size_t longest_file = 1u << 20;

/// Returns the file in the folder of a missing one that was probably meant.
std::string nearest_file(const std::filesystem::path& path,
                         const std::vector<std::string_view>& extensions) {
  std::error_code error;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
  std::vector<std::string> names;
  for (auto it = std::filesystem::directory_iterator{folder, error};
       !error && it != std::filesystem::directory_iterator{}; it.increment(error))
    if (std::ranges::find(extensions, it->path().extension().string()) != extensions.end())
      names.push_back(it->path().filename().string());
  const auto found = suggest(path.filename().string(), names);
  return found.empty() ? found : (path.parent_path() / found).string();
}

tl::unexpected<ConfigProblem> unreadable(const std::filesystem::path& path,
                                         const std::vector<std::string_view>& extensions,
                                         std::string why) {
  std::error_code error;
  const bool is_there = exists(std::filesystem::symlink_status(path, error));
  return tl::unexpected(
      ConfigProblem{.source = echoed(path.string()),
                    .what = std::move(why),
                    .suggestion = is_there ? std::string{} : nearest_file(path, extensions)});
}

} // namespace

tl::expected<std::string, ConfigProblem>
read_config_text(const std::filesystem::path& path,
                 const std::vector<std::string_view>& extensions) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return unreadable(path, extensions, "a folder, not a config file");
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  if (!file)
    return unreadable(path, extensions, std::string{"cannot open: "} + std::strerror(errno));
  std::string text(longest_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad())
    return unreadable(path, extensions, std::string{"cannot read: "} + std::strerror(errno));
  if (text.size() > longest_file)
    return unreadable(path, extensions, "longer than 1 MiB, so not a config file");
  if (is_git_lfs_pointer(text))
    return unreadable(path, extensions, std::string{git_lfs_advice});
  return text;
}

} // namespace troupe
