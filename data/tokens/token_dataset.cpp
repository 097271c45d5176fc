#include "data/tokens/token_dataset.hpp"

#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "data/detail/file.hpp"
#include "data/tokenizer/open.hpp"
#include "data/tokens/tokenize.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::data {

namespace fs = std::filesystem;

namespace {

Result<TokenFilePtr> open_finished(const fs::path& path, const Tokenizer& tokenizer,
                                   const std::string& name) {
  auto opened = TokenFile::open(path);
  if (!opened)
    return fail(Errc::data, "{}", opened.error().message); // a user's file, not a cache of ours
  const auto file = *std::move(opened);
  if (file->traits().tokenizer != tokenizer.fingerprint())
    return fail(Errc::data,
                "{}: its tokens were made with a tokenizer other than data.tokenizer: {}",
                echoed(path.string()), echoed(name));
  return file;
}

/// Returns the path of the cached tokens. In a shared folder, roots of equal names have different
/// files.
Result<fs::path> cache_path(const DataConfig& data, const fs::path& root) {
  auto whole = fs::absolute(root).lexically_normal();
  if (!whole.has_filename()) // it ended in a slash
    whole = whole.parent_path();
  if (!data.tokenizer.cache)
    return fs::path{whole.string() + ".tokens"};
  TROUPE_TRY(make_folders(*data.tokenizer.cache));
  Sha256 sha;
  sha.update(whole.string());
  return fs::path{*data.tokenizer.cache} /
         fmt::format("{}-{}.tokens", whole.filename().string(), sha.hex_digest().substr(0, 8));
}

Status write_tokens(const fs::path& path, const std::vector<TextFile>& files,
                    const DataConfig& data, const TokenizerPtr& tokenizer,
                    const std::string& sources) {
  auto writer = TokenWriter::create(path, *tokenizer, sources);
  if (!writer)
    return fail(writer.error().code, "{}; set data.tokenizer.cache to another folder for tokens",
                writer.error().message);
  TROUPE_TRY(tokenize(files, data.text_key, tokenizer,
                      [&](std::span<const TokenId> ids) { return writer->append(ids); }));
  TROUPE_TRY(writer->commit());
  return {};
}

struct TextTokens {
  TokenFilePtr file;
  LeftOut left_out; ///< files that are not texts
};

/// Returns the tokens of the texts at `root`, encoded by data.tokenizer. Reads them from
/// ROOT.tokens beside it, or from a file in the folder data.tokenizer.cache. Writes that file first
/// if it is missing, or if it is of other texts or another tokenizer. If `root` ends in .tokens, it
/// is the token file itself.
Result<TextTokens> open_text_tokens(const DataConfig& data, const std::string& root) {
  TROUPE_TRY(const auto tokenizer, open_tokenizer(data.tokenizer.path, data.tokenizer.split));
  if (lower_extension(root) == ".tokens") {
    TROUPE_TRY(auto finished, open_finished(root, *tokenizer, data.tokenizer.path));
    return TextTokens{std::move(finished), {}};
  }
  TROUPE_TRY(auto found, find_texts(root));
  TROUPE_TRY(const auto path, cache_path(data, root));
  TROUPE_TRY(const auto sources, fingerprint_of(found.files, data.text_key));
  auto made = TokenFile::open(path);
  if (!made || (*made)->traits().tokenizer != tokenizer->fingerprint() ||
      (*made)->traits().sources != sources) {
    TROUPE_TRY(write_tokens(path, found.files, data, tokenizer, sources));
    made = TokenFile::open(path);
  }
  TROUPE_TRY(auto tokens, std::move(made));
  return TextTokens{std::move(tokens), std::move(found.left_out)};
}

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

} // namespace troupe::data
