#include "data/tokens/text_tokens.hpp"

#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/detail/file.hpp"
#include "data/tokenizer/open.hpp"
#include "data/tokens/tokenize.hpp"

namespace troupe::data {

namespace {

namespace fs = std::filesystem;

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

} // namespace

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

} // namespace troupe::data
