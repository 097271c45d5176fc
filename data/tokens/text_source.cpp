#include "text_source.hpp"

#include "../detail/file.hpp"
#include "../detail/text_file.hpp"
#include "../tokenizer/split.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/printable.hpp"
#include "troupe/core/sha256.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t block_bytes = std::size_t{4} << 20;
constexpr std::size_t most_piece_bytes = std::size_t{256} << 20;

bool is_left_out(const fs::path& path) {
  return path.filename().string().starts_with('.') || path.extension() == ".tokens";
}

Result<TextFile> text_file(const fs::path& path, std::string name) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  const auto modified = error ? fs::file_time_type{} : fs::last_write_time(path, error);
  if (error)
    return fail(Errc::io, "{}: {}", echoed(path.string()), error.message());
  return TextFile{path, std::move(name), bytes, modified.time_since_epoch().count()};
}

Result<std::vector<TextFile>> texts_below(const fs::path& root) {
  std::vector<TextFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at{root, error}, end; !error && at != end;
       at.increment(error)) {
    if (is_left_out(at->path())) {
      at.disable_recursion_pending();
      continue;
    }
    if (std::error_code ignored; !at->is_regular_file(ignored)) // a link may lead nowhere
      continue;
    TROUPE_TRY(auto file, text_file(at->path(), at->path().lexically_relative(root).string()));
    files.push_back(std::move(file));
  }
  if (error)
    return fail(Errc::io, "{}: {}", echoed(root.string()), error.message());
  std::ranges::sort(files, {}, &TextFile::name);
  return files;
}

/// Where what has been read may be cut; 0: nowhere yet.
using Cut = std::size_t (*)(std::string_view text);
/// The next bytes; fewer than fit only at the end.
using ReadBytes = std::function<Result<std::size_t>(std::span<std::uint8_t> into)>;

/// Whether the text has ended.
Result<bool> append_block(const ReadBytes& read, std::string& text) {
  const auto before = text.size();
  text.resize(before + block_bytes);
  TROUPE_TRY(const auto count,
             read({reinterpret_cast<std::uint8_t*>(text.data()) + before, block_bytes}));
  text.resize(before + count);
  return count < block_bytes;
}

/// Of a text that has none up to `searched`: so that long ones are not searched again and again.
std::size_t last_cut_behind(std::size_t searched, std::string_view text, Cut cut) {
  constexpr std::size_t longest_character = 4;
  const auto from = searched - std::min(searched, longest_character);
  const auto found = cut(text.substr(from));
  return found == 0 ? 0 : from + found;
}

/// Reads block by block, and hands on what comes before a cut.
Status read_pieces(const ReadBytes& read, std::string_view name, Cut cut, const TextTaker& take) {
  std::string text;
  for (bool ends = false; !ends;) {
    const auto searched = text.size(); // what is left lies behind the last cut
    TROUPE_TRY(ends, append_block(read, text));
    const auto until = ends ? text.size() : last_cut_behind(searched, text, cut);
    if (until == 0 && text.size() > most_piece_bytes)
      return fail(Errc::data,
                  "{}: {} bytes are there without an end of a line (in plain text, one behind a "
                  "letter or digit): cut the file into lines, or into several files",
                  echoed(name), text.size());
    if (until > 0)
      TROUPE_TRY(take(std::string_view{text}.substr(0, until), ends));
    text.erase(0, until);
  }
  return {};
}

Status read_file_in_pieces(const fs::path& path, Cut cut, const TextTaker& take) {
  TROUPE_TRY(auto input, InputFile::open(path));
  return read_pieces([&](std::span<std::uint8_t> into) { return input.read(into); }, path.string(),
                     cut, take);
}

std::size_t behind_last_line(std::string_view text) {
  return text.rfind('\n') + 1; // npos + 1 is 0
}

/// The documents of JSON lines, a piece of whole lines after the other.
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
      return fail(Errc::data, "{}:{}: this is no object with a text {} (data.text_key)",
                  echoed(file_.path.string()), number_, echoed(key_));
    return take_(found->get_ref<const std::string&>(), true);
  }

  const TextFile& file_;
  const std::string& key_;
  const TextTaker& take_;
  std::int64_t number_ = 0; ///< of the line, from 1
};

} // namespace

Result<std::vector<TextFile>> find_texts(const fs::path& root) {
  std::error_code error;
  const auto kind = fs::status(root, error).type();
  if (kind == fs::file_type::regular) {
    TROUPE_TRY(auto file, text_file(root, root.filename().string()));
    return std::vector{std::move(file)};
  }
  if (kind != fs::file_type::directory)
    return fail(Errc::data, "{}: there is no such file or folder of texts", echoed(root.string()));
  auto files = texts_below(root);
  if (files && files->empty())
    return fail(Errc::data, "{}: there is no text in this folder", echoed(root.string()));
  return files;
}

std::string fingerprint_of(const std::vector<TextFile>& files, std::string_view key) {
  Sha256 sha;
  sha.update(fmt::format("{}:{}\n", key.size(), key));
  for (const auto& file : files)
    sha.update(
        fmt::format("{}:{} {} {}\n", file.name.size(), file.name, file.bytes, file.modified));
  return sha.hex_digest();
}

Status read_documents(const TextFile& file, const std::string& key, const TextTaker& take) {
  const auto extension = file.path.extension();
  if (extension != ".jsonl" && extension != ".ndjson")
    return read_file_in_pieces(file.path, last_cut, take);
  LineReader lines{file, key, take};
  return read_file_in_pieces(file.path, behind_last_line,
                             [&](std::string_view piece, bool) { return lines.take_lines(piece); });
}

Status read_document(std::FILE* input, std::string_view name, const TextTaker& take) {
  const auto read = [&](std::span<std::uint8_t> into) -> Result<std::size_t> {
    const auto count = std::fread(into.data(), 1, into.size(), input);
    if (count < into.size() && std::ferror(input) != 0)
      return fail(Errc::io, "{}: cannot be read: {}", echoed(name), std::strerror(errno));
    return count;
  };
  return read_pieces(read, name, last_cut, take);
}

} // namespace troupe::data
