/// Tokens of documents, one document behind the other, in a file that is mapped into memory.
///
/// Layout, little-endian: a header of 256 bytes; the tokens, of 2 bytes each where the vocabulary
/// has at most 65,536 ids, else of 4; zeros up to a multiple of 8; and for each document 8 bytes,
/// the place behind its end.
#pragma once

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "core/sha256.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "data/tokens/detail/mapped_file.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

struct TokenTraits {
  std::int64_t vocabulary_size = 0; ///< all ids are less
  TokenId end_of_document = 0;
  std::string tokenizer; ///< Tokenizer::fingerprint
  std::string sources;   ///< 64 hexadecimal digits, which other sources have not
  std::string content;   ///< SHA-256 of the tokens as they lie in the file
  std::int64_t tokens = 0, documents = 0;
};

/// Writes a file under a temporary name; it is there when commit() has given it its own. Memory: 8
/// bytes a document.
class TokenWriter {
public:
  /// `sources`: 64 hexadecimal digits. Errors: of AtomicFile.
  static Result<TokenWriter> create(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                    std::string sources);

  /// Appends; behind each end of a document the next one begins.
  Status append(std::span<const TokenId> ids);
  /// What the file has. Once.
  Result<TokenTraits> commit();

private:
  TokenWriter(AtomicFile file, TokenTraits traits)
      : file_{std::move(file)}, traits_{std::move(traits)} {}

  AtomicFile file_;
  TokenTraits traits_;
  std::vector<std::uint64_t> ends_;
  Sha256 sha_;
};

/// Immutable; any thread may read.
class TokenFile {
public:
  /// Errors: Errc::corrupt for what is no such file, or damaged as far as its header, its length
  /// and the ends of its documents tell; of MappedFile.
  static Result<std::shared_ptr<const TokenFile>> open(const std::filesystem::path& path);

  const TokenTraits& traits() const { return traits_; }
  /// The tokens from `first` on; they have to be there. Errors: Errc::corrupt for an id that is not
  /// in the vocabulary.
  Status read(std::int64_t first, std::span<TokenId> to) const;
  /// The place behind a document's last token, which is its end.
  std::int64_t document_end(std::int64_t document) const;

private:
  TokenFile(std::filesystem::path path, MappedFile file, TokenTraits traits)
      : path_{std::move(path)}, file_{std::move(file)}, traits_{std::move(traits)} {}
  Status check_ends() const;

  std::filesystem::path path_;
  MappedFile file_;
  TokenTraits traits_;
};
using TokenFilePtr = std::shared_ptr<const TokenFile>;

} // namespace troupe::data
