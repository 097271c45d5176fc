#include "data/tokens/token_dataset.hpp"

#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/tokens/text_tokens.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::data {

namespace {

using Windows = TokenDataset::Windows;

/// Returns the number of windows that the division of one file leaves to evaluation.
std::int64_t held_out(const DataConfig& data, std::int64_t windows) {
  const auto& [share, path] = data.validation;
  if (!path.empty() || share == 0)
    return 0;
  const std::int64_t part = std::llround(share * static_cast<double>(windows));
  return std::min(std::max<std::int64_t>(part, 1), windows); // 0 if there are no windows
}

Windows windows_of(const DataConfig& data, Split split, std::int64_t all) {
  const auto length = data.sequence_length;
  const auto held = held_out(data, all);
  if (split == Split::test)
    return data.validation.path.empty() ? Windows{all - held, held, length}
                                        : Windows{0, all, length};
  return {0, std::min(all - held, data.limit.value_or(all)), length};
}

} // namespace

Status TokenDataset::read(std::int64_t window, std::span<TokenId> to) const {
  return file_->read((windows_.first + window) * windows_.length, to);
}

void TokenDataset::add_content(Sha256& sha) const {
  sha.update(file_->traits().tokenizer);
  sha.update(file_->traits().content);
  sha.update(fmt::format("{} {} {}", windows_.first, windows_.count, windows_.length));
}

Result<TokenDatasetPtr> open_text(const DataConfig& data, Split split) {
  const auto& other = data.validation.path;
  const auto& root = split == Split::test && !other.empty() ? other : data.root;
  TROUPE_TRY(auto opened, open_text_tokens(data, root));
  const auto tokens = opened.file->traits().tokens;
  const auto all = std::max<std::int64_t>(tokens - 1, 0) / data.sequence_length;
  const auto windows = windows_of(data, split, all);
  if (windows.count < 1)
    return fail(
        Errc::data,
        "{0}: its {1} tokens make {2} window{5} of {3} tokens and the next one, which leaves none "
        "for {4}; lower data.sequence_length, change data.validation or add text",
        echoed(root), tokens, all, data.sequence_length,
        split == Split::train ? "training" : "evaluation", all == 1 ? "" : "s");
  return std::make_shared<const TokenDataset>(std::move(opened.file), windows,
                                              std::move(opened.left_out));
}

Status check_vocabulary(std::int64_t tokens, const Config& config) {
  if (!config.model.vocabulary || *config.model.vocabulary >= tokens)
    return {};
  return fail(Errc::data, "{} has {} tokens, and model.vocabulary is {}: at least {} is needed",
              echoed(config.data.tokenizer.path), tokens, *config.model.vocabulary, tokens);
}

Status check_vocabulary(const TokenDataset& windows, const Config& config) {
  return check_vocabulary(windows.file().traits().vocabulary_size, config);
}

} // namespace troupe::data
