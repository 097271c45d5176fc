#include "tokenize.hpp"

#include "troupe/core/fail.hpp"

namespace troupe::data {

Result<TextCounts> tokenize(const std::vector<TextFile>& files, const std::string& key,
                            const TokenizerPtr& tokenizer, const TokenTaker& take) {
  Encoder encoder{tokenizer};
  TextCounts counts;
  std::vector<TokenId> ids;
  const auto encode = [&](std::string_view piece, bool ends) {
    ids.clear();
    encoder.encode(piece, ids);
    if (ends)
      ids.push_back(tokenizer->end_of_document());
    counts.documents += ends ? 1 : 0;
    counts.bytes += piece.size();
    counts.tokens += std::ssize(ids);
    return take(ids);
  };
  for (const auto& file : files)
    TROUPE_TRY(read_documents(file, key, encode));
  return counts;
}

} // namespace troupe::data
