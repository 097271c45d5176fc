#include "data/tokenizer/tokenizer.hpp"

#include "core/fail.hpp"
#include "core/sha256.hpp"

namespace troupe::data {

namespace {

constexpr std::size_t most_known_words = std::size_t{1} << 16;
constexpr std::size_t longest_known_word = 64;
/// Merging takes about sixty bytes of memory for each byte of a word.
constexpr std::size_t longest_merged_word = std::size_t{1} << 20;

void add_number(Sha256& sha, std::int64_t value) {
  sha.update(std::as_bytes(std::span{&value, 1}));
}

void add_text(Sha256& sha, std::string_view text) {
  add_number(sha, static_cast<std::int64_t>(text.size()));
  sha.update(text);
}

void add_tokens(Sha256& sha, const Vocabulary& vocabulary) {
  for (std::int64_t id = 0; id < vocabulary.size(); ++id)
    if (const auto* const token = vocabulary.bytes(id)) {
      add_number(sha, id);
      add_text(sha, *token);
    }
}

/// Returns the hash of everything that determines a tokenizer's output, in 64 hexadecimal digits.
std::string fingerprint_of(const TokenizerParts& parts) {
  Sha256 sha;
  add_number(sha, static_cast<std::int64_t>(parts.split));
  add_number(sha, parts.whole_words ? 1 : 0);
  add_number(sha, *parts.end_of_document);
  add_tokens(sha, parts.vocabulary);
  for (const auto& merge : parts.merges.in_order())
    for (const auto number : {merge.left, merge.right, merge.rank, merge.id})
      add_number(sha, number);
  for (const auto& set : parts.added) {
    add_number(sha, static_cast<std::int64_t>(set.all().size()));
    for (const auto& token : set.all())
      add_text(sha, token.text), add_number(sha, token.id);
  }
  return sha.hex_digest();
}

} // namespace

Result<TokenizerPtr> Tokenizer::make(TokenizerParts parts) {
  const std::shared_ptr<Tokenizer> made{new Tokenizer{std::move(parts)}};
  TROUPE_TRY(made->find_bytes());
  TROUPE_TRY(made->find_end());
  made->fingerprint_ = fingerprint_of(made->parts_);
  return TokenizerPtr{made};
}

Status Tokenizer::find_bytes() {
  for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
    TROUPE_TRY(bytes_[byte], parts_.vocabulary.of_byte(static_cast<unsigned char>(byte)));
  }
  return {};
}

Status Tokenizer::find_end() {
  if (parts_.end_of_document && !parts_.vocabulary.bytes(*parts_.end_of_document))
    return fail(Errc::data, "no token has the id {}, the end of documents",
                *parts_.end_of_document);
  if (parts_.end_of_document)
    return {};
  const auto id = parts_.vocabulary.size();
  parts_.end_of_document = static_cast<TokenId>(id);
  return parts_.vocabulary.add_special(id, "<|endoftext|>");
}

Status Tokenizer::decode(std::span<const TokenId> ids, std::string& bytes) const {
  for (const auto id : ids) {
    const auto* const token = parts_.vocabulary.bytes(id);
    if (!token)
      return fail(Errc::data, "no token has the id {}: ids are 0 to {}", id, vocabulary_size() - 1);
    bytes += *token;
  }
  return {};
}

void Encoder::encode(std::string_view text, std::vector<TokenId>& ids) {
  encode_between(0, text, ids);
}

void Encoder::encode_between(std::size_t added, std::string_view text, std::vector<TokenId>& ids) {
  const auto& sets = tokenizer_->parts().added;
  if (added == sets.size())
    return encode_words(text, ids);
  while (const auto found = sets[added].find(text)) {
    encode_between(added + 1, text.substr(0, found->at), ids);
    ids.push_back(found->id);
    text.remove_prefix(found->at + found->bytes);
  }
  encode_between(added + 1, text, ids);
}

void Encoder::encode_words(std::string_view text, std::vector<TokenId>& ids) {
  const auto& parts = tokenizer_->parts();
  if (parts.merges.empty() && !parts.whole_words) { // words do not affect the tokens
    for (const char byte : text)
      ids.push_back(tokenizer_->of_byte(static_cast<unsigned char>(byte)));
    return;
  }
  while (!text.empty()) {
    const auto length = first_word(parts.split, text);
    encode_in_parts(text.substr(0, length), ids);
    text.remove_prefix(length);
  }
}

void Encoder::encode_in_parts(std::string_view word, std::vector<TokenId>& ids) {
  for (; word.size() > longest_merged_word; word.remove_prefix(longest_merged_word))
    encode_word(word.substr(0, longest_merged_word), ids);
  encode_word(word, ids);
}

void Encoder::encode_word(std::string_view word, std::vector<TokenId>& ids) {
  if (const auto known = known_.find(word); known != known_.end()) {
    ids.insert(ids.end(), known->second.begin(), known->second.end());
    return;
  }
  compute(word);
  ids.insert(ids.end(), word_.begin(), word_.end());
  if (word.size() > longest_known_word)
    return;
  if (known_.size() == most_known_words) // texts change their subject: old words are rare
    known_.clear();
  known_.emplace(word, word_);
}

void Encoder::compute(std::string_view word) {
  const auto& parts = tokenizer_->parts();
  word_.clear();
  if (parts.whole_words)
    if (const auto id = parts.vocabulary.find(word)) {
      word_.push_back(*id);
      return;
    }
  for (const char byte : word)
    word_.push_back(tokenizer_->of_byte(static_cast<unsigned char>(byte)));
  merger_.merge(parts.merges, word_);
}

} // namespace troupe::data
