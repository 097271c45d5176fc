/// GPT-2's way to write bytes as visible characters, which Hugging Face calls ByteLevel: 188 stand
/// for themselves (! to ~ and most of Latin-1), the others are U+0100 and the next ones.
#pragma once

#include "data/tokenizer/tokenizer.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe::data {

/// The bytes that a token's characters stand for; none: one of them stands for none.
std::optional<std::string> bytes_of_characters(std::string_view token);

/// Adds {token: id, ...}. A token with a character that stands for no byte is its own UTF-8, and no
/// merge makes it. Errors (Errc::data): of Vocabulary::add; what is no such object.
Status add_vocabulary(const nlohmann::json& tokens, Vocabulary& vocabulary);

/// Adds the merge of two tokens. Errors (Errc::data): tokens that are not there, by name.
Status add_merge(std::string_view left, std::string_view right, TokenizerParts& parts,
                 std::size_t rank);
/// Of two tokens with a space between them.
Status add_merge(std::string_view both, TokenizerParts& parts, std::size_t rank);

} // namespace troupe::data
