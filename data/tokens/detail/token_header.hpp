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
  std::uint32_t version = 0, width = 0; ///< width: bytes per token
  std::uint64_t vocabulary_size = 0, tokens = 0, documents = 0;
  std::uint32_t end_of_document = 0, unused = 0;
  Digest tokenizer = {}, sources = {}, content = {};
  std::array<char, 16> reserved = {};
};
static_assert(sizeof(TokenHeader) == 256);

/// Returns the bytes per token.
std::uint32_t token_width(std::int64_t vocabulary_size);
/// Returns the offset of the table of document ends in the file.
std::uint64_t place_of_ends(std::int64_t vocabulary_size, std::uint64_t tokens);

TokenHeader to_header(const TokenTraits& traits);
/// Parses and checks the header. Errors (Errc::corrupt): any value that a valid file cannot have.
Result<TokenTraits> read_token_header(std::span<const std::byte> file);

} // namespace troupe::data
