#include "data/tokens/text_files.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/detail/file.hpp"
#include "data/detail/folder_walk.hpp"

#include <algorithm>
#include <utility>

#include <zlib.h>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

bool may_be_text(const fs::path& path) {
  return lower_extension(path) != ".tokens";
}

Result<FoundTexts> texts_below(const fs::path& root) {
  TROUPE_TRY(auto found, walk_folder(root, may_be_text));
  FoundTexts texts{.files = {}, .left_out = std::move(found.left_out)};
  for (auto& path : found.files) {
    auto name = path.lexically_relative(root).string();
    texts.files.push_back({std::move(path), std::move(name)});
  }
  for (const auto& path : found.irregular)
    texts.left_out.add_unread(path);
  std::ranges::sort(texts.files, {}, &TextFile::name);
  return texts;
}

constexpr std::size_t checked_bytes = std::size_t{4} << 20; // bytes read at a time

/// Returns the checksum of a file's content and sets `bytes` to its size.
Result<std::size_t> checksum_of(const fs::path& path, std::uint64_t& bytes) {
  TROUPE_TRY(auto input, InputFile::open(path));
  std::vector<std::uint8_t> block(checked_bytes);
  std::size_t sum = crc32_z(0, nullptr, 0);
  for (bytes = 0;;) {
    TROUPE_TRY(const auto count, input.read(block));
    sum = crc32_z(sum, block.data(), count);
    bytes += count;
    if (count < block.size())
      return sum;
  }
}

} // namespace

Result<FoundTexts> find_texts(const fs::path& root) {
  std::error_code error;
  const auto kind = fs::status(root, error).type();
  if (kind == fs::file_type::regular)
    return FoundTexts{.files = {{root, root.filename().string()}}, .left_out = {}};
  if (kind != fs::file_type::directory)
    return fail(Errc::data, "{}: there is no such file or folder of texts", echoed(root.string()));
  auto found = texts_below(root);
  if (found && found->files.empty())
    return fail(Errc::data, "{}: this folder contains no texts", echoed(root.string()));
  return found;
}

Result<std::string> fingerprint_of(const std::vector<TextFile>& files, std::string_view key) {
  Sha256 sha;
  sha.update(fmt::format("{}:{}\n", key.size(), key));
  for (const auto& file : files) {
    std::uint64_t bytes = 0;
    TROUPE_TRY(const auto sum, checksum_of(file.path, bytes));
    sha.update(fmt::format("{}:{} {} {:08x}\n", file.name.size(), file.name, bytes, sum));
  }
  return sha.hex_digest();
}

} // namespace troupe::data
