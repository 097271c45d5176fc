#include "data/tokens/token_file.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/git_lfs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::data {

namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

/// The first bytes of a token file.
struct TokenHeader {
  using Digest = std::array<char, 64>;

  std::array<char, 8> magic = {};
  std::uint32_t version = 0, width = 0; ///< width: bytes per token
  std::uint64_t vocabulary_size = 0, tokens = 0, documents = 0;
  std::uint32_t end_of_document = 0, unused = 0;
  Digest tokenizer = {}, sources = {}, content = {};
  std::array<char, 16> reserved = {};
};
static_assert(sizeof(TokenHeader) == 256);

constexpr std::array<char, 8> token_magic = {'T', 'R', 'O', 'U', 'P', 'E', 'T', 'K'};
constexpr std::uint32_t token_version = 1;
constexpr std::int64_t most_narrow_ids = 1 << 16;

TokenHeader::Digest to_digest(const std::string& text) {
  TokenHeader::Digest digest = {};
  std::copy_n(text.begin(), std::min(text.size(), digest.size()), digest.begin());
  return digest;
}

std::string to_text(const TokenHeader::Digest& digest) {
  return {digest.begin(), digest.end()};
}

/// Returns the bytes per token.
std::uint32_t token_width(std::int64_t vocabulary_size) {
  return vocabulary_size <= most_narrow_ids ? 2 : 4;
}

/// Returns the offset of the table of document ends in the file.
std::uint64_t place_of_ends(std::int64_t vocabulary_size, std::uint64_t tokens) {
  return sizeof(TokenHeader) + (tokens * token_width(vocabulary_size) + 7) / 8 * 8;
}

Status check_header(const TokenHeader& header, std::uint64_t bytes) {
  if (header.magic != token_magic)
    return fail(Errc::corrupt, "not a token file");
  if (header.version != token_version)
    return fail(Errc::corrupt, "the token file has version {}, but this program reads version {}",
                header.version, token_version);
  const auto ids = header.vocabulary_size;
  if (ids == 0 || ids > static_cast<std::uint64_t>(Vocabulary::most_ids) ||
      header.width != token_width(static_cast<std::int64_t>(ids)) || header.end_of_document >= ids)
    return fail(Errc::corrupt,
                "its header is invalid: {} ids of {} bytes each, with {} as the end of documents",
                ids, header.width, header.end_of_document);
  if (header.tokens > bytes / header.width || header.documents > bytes / sizeof(std::uint64_t) ||
      place_of_ends(static_cast<std::int64_t>(ids), header.tokens) +
              header.documents * sizeof(std::uint64_t) !=
          bytes)
    return fail(Errc::corrupt, "{} tokens and {} documents do not add up to its {} bytes",
                header.tokens, header.documents, bytes);
  return {};
}

TokenHeader to_header(const TokenTraits& traits) {
  return {.magic = token_magic,
          .version = token_version,
          .width = token_width(traits.vocabulary_size),
          .vocabulary_size = static_cast<std::uint64_t>(traits.vocabulary_size),
          .tokens = static_cast<std::uint64_t>(traits.tokens),
          .documents = static_cast<std::uint64_t>(traits.documents),
          .end_of_document = static_cast<std::uint32_t>(traits.end_of_document),
          .tokenizer = to_digest(traits.tokenizer),
          .sources = to_digest(traits.sources),
          .content = to_digest(traits.content)};
}

/// Parses and checks the header. Errors (Errc::corrupt): any value that a valid file cannot have.
Result<TokenTraits> read_token_header(std::span<const std::byte> file) {
  TokenHeader header;
  if (file.size() < sizeof header)
    return fail(Errc::corrupt, "not a token file: it has only {} bytes", file.size());
  std::memcpy(&header, file.data(), sizeof header);
  TROUPE_TRY(check_header(header, file.size()));
  return TokenTraits{static_cast<std::int64_t>(header.vocabulary_size),
                     static_cast<TokenId>(header.end_of_document),
                     to_text(header.tokenizer),
                     to_text(header.sources),
                     to_text(header.content),
                     static_cast<std::int64_t>(header.tokens),
                     static_cast<std::int64_t>(header.documents)};
}

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

tl::unexpected<Error> cannot_map(const std::filesystem::path& path, int number) {
  return fail(number == ENOENT ? Errc::data : Errc::io, "{}: cannot be opened: {}",
              echoed(path.string()), std::strerror(number));
}

Result<std::span<const std::byte>> map_whole(const std::filesystem::path& path, int descriptor) {
  struct ::stat status {};
  if (::fstat(descriptor, &status) != 0)
    return cannot_map(path, errno);
  if (!S_ISREG(status.st_mode))
    return fail(Errc::data, "{}: not a regular file", echoed(path.string()));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) // mmap refuses an empty file
    return std::span<const std::byte>{};
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return cannot_map(path, errno);
  return std::span{static_cast<const std::byte*>(memory), size};
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

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return cannot_map(path, errno);
  const auto bytes = map_whole(path, descriptor);
  ::close(descriptor);
  if (!bytes)
    return failure(bytes.error());
  return MappedFile{*bytes};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_{std::exchange(other.bytes_, std::span<const std::byte>{})} {}

MappedFile::~MappedFile() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
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
