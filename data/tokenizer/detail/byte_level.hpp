/// GPT-2's mapping of bytes to visible characters, which Hugging Face calls ByteLevel: 188 bytes
/// stand for themselves (! to ~ and most of Latin-1), the others become U+0100 and the following
/// characters.
#pragma once

#include "data/tokenizer/tokenizer.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe::data {

/// Returns the bytes that a token's characters stand for; nothing if a character stands for no
/// byte.
std::optional<std::string> bytes_of_characters(std::string_view token);

/// Adds {token: id, ...}. A token with a character that stands for no byte is stored as its UTF-8
/// bytes, and no merge produces it. Errors (Errc::data): those of Vocabulary::add; JSON that is not
/// such an object.
Status add_vocabulary(const nlohmann::json& tokens, Vocabulary& vocabulary);

/// Adds the merge of two tokens. Errors (Errc::data): a token that does not exist, by name.
Status add_merge(std::string_view left, std::string_view right, TokenizerParts& parts,
                 std::size_t rank);
/// Adds the merge of two tokens that a space separates.
Status add_merge(std::string_view both, TokenizerParts& parts, std::size_t rank);

} // namespace troupe::data
