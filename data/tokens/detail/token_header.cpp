#include "data/tokens/detail/token_header.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::data {

namespace {

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

} // namespace

std::uint32_t token_width(std::int64_t vocabulary_size) {
  return vocabulary_size <= most_narrow_ids ? 2 : 4;
}

std::uint64_t place_of_ends(std::int64_t vocabulary_size, std::uint64_t tokens) {
  return sizeof(TokenHeader) + (tokens * token_width(vocabulary_size) + 7) / 8 * 8;
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

} // namespace troupe::data
