#include "core/config/downloads.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace troupe {

namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void use_moved(Config& config, const char* key, std::string& path) {
  constexpr std::string_view before = "data/";
  if (!path.starts_with(before) || exists(path))
    return;
  auto moved = "datasets/" + path.substr(before.size());
  if (!exists(moved))
    return;
  config.notes.push_back(
      fmt::format("{}: {} does not exist, so {} is used; change the key", key, path, moved));
  path = std::move(moved);
}

} // namespace

void use_moved_downloads(Config& config) {
  use_moved(config, "data.root", config.data.root);
  use_moved(config, "data.validation", config.data.validation.path);
  use_moved(config, "data.tokenizer", config.data.tokenizer.path);
}

} // namespace troupe
