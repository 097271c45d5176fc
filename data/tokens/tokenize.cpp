#include "data/tokens/tokenize.hpp"

#include "core/fail.hpp"

namespace troupe::data {

namespace {

/// Encodes chunks of documents and passes their tokens on.
class PieceEncoder {
public:
  PieceEncoder(const TokenizerPtr& tokenizer, const TokenTaker& take)
      : encoder_{tokenizer}, take_{take} {}

  Status operator()(std::string_view piece, bool ends) {
    ids_.clear();
    encoder_.encode(piece, ids_);
    if (ends)
      ids_.push_back(encoder_.tokenizer().end_of_document());
    counts_.documents += ends ? 1 : 0;
    counts_.bytes += piece.size();
    counts_.tokens += std::ssize(ids_);
    return take_(ids_);
  }
  const TextCounts& counts() const { return counts_; }

private:
  Encoder encoder_;
  const TokenTaker& take_;
  TextCounts counts_;
  std::vector<TokenId> ids_;
};

} // namespace

Result<TextCounts> tokenize(const std::vector<TextFile>& files, const std::string& key,
                            const TokenizerPtr& tokenizer, const TokenTaker& take) {
  PieceEncoder encoder{tokenizer, take};
  for (const auto& file : files)
    TROUPE_TRY(read_documents(file, key, cut_for(*tokenizer), std::ref(encoder)));
  return encoder.counts();
}

Result<TextCounts> tokenize(std::FILE* input, std::string_view name, const TokenizerPtr& tokenizer,
                            const TokenTaker& take) {
  PieceEncoder encoder{tokenizer, take};
  TROUPE_TRY(read_document(input, name, cut_for(*tokenizer), std::ref(encoder)));
  return encoder.counts();
}

} // namespace troupe::data
