/// Windows of a fixed length over the tokens of texts.
#pragma once

#include "core/config/forward.hpp"
#include "core/error.hpp"
#include "data/dataset.hpp"
#include "data/tokens/token_file.hpp"

#include <memory>

namespace troupe::data {

/// Window i of length T contains the tokens [i * T, i * T + T) and their successors [i * T + 1, i *
/// T + T + 1). Documents follow each other, separated by end-of-document tokens.
class TokenDataset final : public Dataset {
public:
  struct Windows {
    std::int64_t first = 0, count = 0;
    std::int64_t length = 0; ///< T
  };
  TokenDataset(TokenFilePtr file, Windows windows, LeftOut left_out = {})
      : file_{std::move(file)}, windows_{windows}, left_out_{std::move(left_out)} {}

  std::string_view name() const override { return "text"; }
  const std::vector<std::string>& class_names() const override { return no_classes_; }
  std::int64_t size() const override { return windows_.count; }
  LeftOut left_out() const override { return left_out_; }

  const TokenFile& file() const { return *file_; }
  const Windows& windows() const { return windows_; }
  /// Reads T + 1 tokens. Errors: those of TokenFile::read.
  Status read(std::int64_t window, std::span<TokenId> to) const;

private:
  void add_content(Sha256& sha) const override;

  TokenFilePtr file_;
  Windows windows_;
  LeftOut left_out_;
  std::vector<std::string> no_classes_;
};
using TokenDatasetPtr = std::shared_ptr<const TokenDataset>;

/// Opens the texts of data.root in windows of data.sequence_length tokens. Split::test is
/// the path in data.validation, or its share of the windows, from the end, which Split::train then
/// lacks. Split::train uses its first data.limit windows. Errors: those of open_tokenizer,
/// find_texts, tokenize and TokenFile; Errc::data for tokens of another tokenizer, or if a split
/// has no window.
Result<TokenDatasetPtr> open_text(const DataConfig& data, Split split);

/// Checks that the model has an embedding row for each of `tokens` tokens of data.tokenizer.
/// Errors: Errc::data.
Status check_vocabulary(std::int64_t tokens, const Config& config);

} // namespace troupe::data
