#include "data/tokens/token_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/git_lfs.hpp"
#include "data/tokens/detail/token_header.hpp"

#include <array>
#include <cstring>

namespace troupe::data {

namespace {

/// Converts tokens that are stored as `Narrow` in a file.
template <class Narrow>
void widen(const std::byte* from, std::span<TokenId> to) {
  for (auto& id : to) {
    Narrow value = 0;
    std::memcpy(&value, from, sizeof value);
    id = static_cast<TokenId>(value);
    from += sizeof value;
  }
}

} // namespace

Result<TokenWriter> TokenWriter::create(const std::filesystem::path& path,
                                        const Tokenizer& tokenizer, std::string sources) {
  TROUPE_TRY(auto file, AtomicFile::create(path));
  TokenWriter writer{std::move(file),
                     {.vocabulary_size = tokenizer.vocabulary_size(),
                      .end_of_document = tokenizer.end_of_document(),
                      .tokenizer = tokenizer.fingerprint(),
                      .sources = std::move(sources)}};
  const TokenHeader room{};
  TROUPE_TRY(writer.file_.write(std::as_bytes(std::span{&room, 1})));
  return writer;
}

Status TokenWriter::append(std::span<const TokenId> ids) {
  const auto width = token_width(traits_.vocabulary_size);
  std::vector<std::byte> bytes(ids.size() * width);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(bytes.data() + i * width, &ids[i], width); // the low bytes come first
    ++traits_.tokens;
    if (ids[i] == traits_.end_of_document)
      ends_.push_back(static_cast<std::uint64_t>(traits_.tokens));
  }
  sha_.update(bytes);
  return file_.write(bytes);
}

Result<TokenTraits> TokenWriter::commit() {
  constexpr std::array<std::byte, 8> zeros = {};
  traits_.documents = std::ssize(ends_);
  traits_.content = sha_.hex_digest();
  const auto padding =
      place_of_ends(traits_.vocabulary_size, static_cast<std::uint64_t>(traits_.tokens)) -
      file_.bytes_written();
  TROUPE_TRY(file_.write(std::span{zeros}.first(padding)));
  TROUPE_TRY(file_.write(std::as_bytes(std::span{ends_})));
  const std::array headers = {to_header(traits_)};
  TROUPE_TRY(file_.overwrite(0, std::as_bytes(std::span{headers})));
  TROUPE_TRY(file_.commit());
  return traits_;
}

Result<TokenFilePtr> TokenFile::open(const std::filesystem::path& path) {
  TROUPE_TRY(auto file, MappedFile::open(path));
  if (const auto bytes = file.bytes();
      is_git_lfs_pointer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    return fail(Errc::data, "{}: {}", echoed(path.string()), git_lfs_advice);
  auto traits = read_token_header(file.bytes());
  if (!traits)
    return fail(traits.error().code, "{}: {}", echoed(path.string()), traits.error().message);
  const std::shared_ptr<TokenFile> opened{new TokenFile{path, std::move(file), *std::move(traits)}};
  TROUPE_TRY(opened->check_ends());
  return TokenFilePtr{opened};
}

Status TokenFile::check_ends() const {
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < traits_.documents; ++i) {
    const auto end = document_end(i);
    if (end <= before || end > traits_.tokens)
      return fail(Errc::corrupt,
                  "{}: document {} ends at {}, the one before it at {}, and there "
                  "are {} tokens",
                  echoed(path_.string()), i, end, before, traits_.tokens);
    before = end;
  }
  return {};
}

std::int64_t TokenFile::document_end(std::int64_t document) const {
  const auto at =
      place_of_ends(traits_.vocabulary_size, static_cast<std::uint64_t>(traits_.tokens));
  std::int64_t end = 0;
  std::memcpy(&end, file_.bytes().data() + at + static_cast<std::size_t>(document) * sizeof end,
              sizeof end);
  return end;
}

Status TokenFile::read(std::int64_t first, std::span<TokenId> to) const {
  const auto width = token_width(traits_.vocabulary_size);
  const auto* const from =
      file_.bytes().data() + sizeof(TokenHeader) + static_cast<std::size_t>(first) * width;
  if (width == sizeof(std::uint16_t))
    widen<std::uint16_t>(from, to);
  else
    widen<std::uint32_t>(from, to);
  for (const auto id : to)
    if (id < 0 || id >= traits_.vocabulary_size)
      return fail(Errc::corrupt, "{}: the id {} after token {} is not less than {}",
                  echoed(path_.string()), id, first, traits_.vocabulary_size);
  return {};
}

} // namespace troupe::data
