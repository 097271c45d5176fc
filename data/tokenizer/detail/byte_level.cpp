#include "data/tokenizer/detail/byte_level.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/tokenizer/characters.hpp"

#include <nlohmann/json.hpp>

#include <array>

namespace troupe::data {

namespace {

constexpr int first_other = 256, others = 68;
using BytesOfCodes = std::array<int, first_other + others>; ///< -1: stands for no byte

BytesOfCodes make_bytes_of_codes() {
  BytesOfCodes bytes;
  bytes.fill(-1);
  std::size_t next = first_other;
  for (int byte = 0; byte < 256; ++byte) {
    const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    bytes[visible ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return bytes;
}

Result<TokenId> known_token(std::string_view token, const Vocabulary& vocabulary) {
  const auto bytes = bytes_of_characters(token);
  const auto id = bytes ? vocabulary.find(*bytes) : std::nullopt;
  if (!id)
    return fail(Errc::data, "there is no token {}", echoed(token));
  return *id;
}

Status add_token(const std::string& token, const nlohmann::json& id, Vocabulary& vocabulary) {
  if (!id.is_number_integer())
    return fail(Errc::data, "the id of token {} is not a whole number", echoed(token));
  auto bytes = bytes_of_characters(token);
  return bytes ? vocabulary.add(id.get<std::int64_t>(), *std::move(bytes))
               : vocabulary.add_special(id.get<std::int64_t>(), token);
}

} // namespace

std::optional<std::string> bytes_of_characters(std::string_view token) {
  static const auto table = make_bytes_of_codes();
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const auto character = character_at(token, at);
    if (character.code >= table.size() || table[character.code] < 0)
      return std::nullopt;
    bytes += static_cast<char>(table[character.code]);
    at += character.bytes;
  }
  return bytes;
}

Status add_vocabulary(const nlohmann::json& tokens, Vocabulary& vocabulary) {
  if (!tokens.is_object())
    return fail(Errc::data, "the vocabulary is not an object that maps tokens to ids");
  for (const auto& [token, id] : tokens.items())
    TROUPE_TRY(add_token(token, id, vocabulary));
  return {};
}

Status add_merge(std::string_view left, std::string_view right, TokenizerParts& parts,
                 std::size_t rank) {
  TROUPE_TRY(const auto first, known_token(left, parts.vocabulary));
  TROUPE_TRY(const auto second, known_token(right, parts.vocabulary));
  TROUPE_TRY(const auto both, known_token(std::string{left}.append(right), parts.vocabulary));
  parts.merges.add({first, second, static_cast<std::int32_t>(rank), both});
  return {};
}

Status add_merge(std::string_view both, TokenizerParts& parts, std::size_t rank) {
  const auto space = both.find(' ');
  if (space == 0 || space + 1 >= both.size() || both.find(' ', space + 1) != both.npos)
    return fail(Errc::data, "{} is not a merge; expected two tokens with a space between them",
                echoed(both));
  return add_merge(both.substr(0, space), both.substr(space + 1), parts, rank);
}

} // namespace troupe::data
