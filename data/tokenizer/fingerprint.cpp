#include "core/sha256.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace troupe::data {

namespace {

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

} // namespace

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

} // namespace troupe::data
