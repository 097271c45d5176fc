#include "data/tokens/text_source.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/json.hpp"
#include "core/sha256.hpp"
#include "data/detail/file.hpp"
#include "data/detail/folder_walk.hpp"
#include "data/detail/text_file.hpp"
#include "data/detail/text_kind.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <zlib.h>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t block_bytes = std::size_t{4} << 20; // read at a time
constexpr std::size_t most_piece_bytes = std::size_t{256} << 20;

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

/// Returns the checksum of a file's content and sets `bytes` to its size.
Result<std::size_t> checksum_of(const fs::path& path, std::uint64_t& bytes) {
  TROUPE_TRY(auto input, InputFile::open(path));
  std::vector<std::uint8_t> block(block_bytes);
  std::size_t sum = crc32_z(0, nullptr, 0);
  for (bytes = 0;;) {
    TROUPE_TRY(const auto count, input.read(block));
    sum = crc32_z(sum, block.data(), count);
    bytes += count;
    if (count < block.size())
      return sum;
  }
}

bool is_json_lines(const fs::path& path) {
  const auto extension = lower_extension(path);
  return extension == ".jsonl" || extension == ".ndjson";
}

/// Reads the next bytes; fewer than fit only at the end.
using ReadBytes = std::function<Result<std::size_t>(std::span<std::uint8_t> into)>;

/// Appends a block to the text. Returns whether the input has ended.
Result<bool> append_block(const ReadBytes& read, std::string& text) {
  const auto before = text.size();
  text.resize(before + block_bytes);
  TROUPE_TRY(const auto count,
             read({reinterpret_cast<std::uint8_t*>(text.data()) + before, block_bytes}));
  text.resize(before + count);
  return count < block_bytes;
}

/// Reads block by block and passes on the text before each cut.
Status read_pieces(const ReadBytes& read, std::string_view name, FindCut find_cut,
                   const TextTaker& take) {
  std::string text;
  bool known = false; // whether the first block was checked to be text
  for (bool ends = false; !ends;) {
    const auto searched = text.size(); // the remaining text begins at the last cut
    TROUPE_TRY(ends, append_block(read, text));
    if (!std::exchange(known, true))
      TROUPE_TRY(expect_text(text, name));
    const auto until = ends ? text.size() : find_cut(text, searched);
    if (until == 0 && text.size() > most_piece_bytes)
      return fail(
          Errc::data,
          "{}: there is no line end within {} MiB; split the file into lines or into several files",
          echoed(name), text.size() >> 20);
    if (until > 0)
      TROUPE_TRY(take(std::string_view{text}.substr(0, until), ends));
    text.erase(0, until);
  }
  return {};
}

Status read_file_in_pieces(const fs::path& path, FindCut find_cut, const TextTaker& take) {
  TROUPE_TRY(auto input, InputFile::open(path));
  return read_pieces([&](std::span<std::uint8_t> into) { return input.read(into); }, path.string(),
                     find_cut, take);
}

std::size_t after_last_line(std::string_view text, std::size_t searched) {
  const auto found = text.substr(searched).rfind('\n');
  return found == text.npos ? 0 : searched + found + 1;
}

/// Reads the documents of JSON lines, from one chunk of whole lines after another.
class LineReader {
public:
  LineReader(const TextFile& file, const std::string& key, const TextTaker& take)
      : file_{file}, key_{key}, take_{take} {}

  Status take_lines(std::string_view lines) {
    while (!lines.empty()) {
      const auto end = std::min(lines.find('\n'), lines.size());
      ++number_;
      TROUPE_TRY(take_line(lines.substr(0, end)));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return {};
  }

private:
  Status take_line(std::string_view line) const {
    if (line.find_first_not_of(" \t\r") == line.npos)
      return {};
    TROUPE_TRY(const auto object, parse_json(line, file_.path, number_));
    const auto found = object.is_object() ? object.find(key_) : object.end();
    if (!object.is_object() || found == object.end() || !found->is_string())
      return fail(Errc::data, "{}:{}: not a JSON object with the text {} (data.text_key)",
                  echoed(file_.path.string()), number_, echoed(key_));
    return take_(found->get_ref<const std::string&>(), true);
  }

  const TextFile& file_;
  const std::string& key_;
  const TextTaker& take_;
  std::int64_t number_ = 0; ///< line number, from 1
};

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

Status read_documents(const TextFile& file, const std::string& key, FindCut find_cut,
                      const TextTaker& take) {
  if (!is_json_lines(file.path))
    return read_file_in_pieces(file.path, find_cut, take);
  LineReader lines{file, key, take};
  return read_file_in_pieces(file.path, after_last_line,
                             [&](std::string_view piece, bool) { return lines.take_lines(piece); });
}

Status read_document(std::FILE* input, std::string_view name, FindCut find_cut,
                     const TextTaker& take) {
  const auto read = [&](std::span<std::uint8_t> into) -> Result<std::size_t> {
    const auto count = std::fread(into.data(), 1, into.size(), input);
    if (count < into.size() && std::ferror(input) != 0)
      return fail(Errc::io, "{}: cannot be read: {}", echoed(name), std::strerror(errno));
    return count;
  };
  return read_pieces(read, name, find_cut, take);
}

} // namespace troupe::data
