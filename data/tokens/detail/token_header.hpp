/// The first 256 bytes of a token file.
#pragma once

#include "data/tokens/token_file.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::data {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

struct TokenHeader {
  using Digest = std::array<char, 64>;

  std::array<char, 8> magic = {};
  std::uint32_t version = 0, width = 0; ///< width: bytes a token
  std::uint64_t vocabulary_size = 0, tokens = 0, documents = 0;
  std::uint32_t end_of_document = 0, unused = 0;
  Digest tokenizer = {}, sources = {}, content = {};
  std::array<char, 16> reserved = {};
};
static_assert(sizeof(TokenHeader) == 256);

/// Bytes a token takes.
std::uint32_t token_width(std::int64_t vocabulary_size);
/// Where the documents' ends begin in the file.
std::uint64_t place_of_ends(std::int64_t vocabulary_size, std::uint64_t tokens);

TokenHeader to_header(const TokenTraits& traits);
/// Errors (Errc::corrupt): what the bytes of a file cannot have.
Result<TokenTraits> read_token_header(std::span<const std::byte> file);

} // namespace troupe::data
