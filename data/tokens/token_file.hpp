/// Tokens of documents, one document after another, in a file that is mapped into memory.
///
/// Layout, little-endian: a header of 256 bytes; the tokens, 2 bytes each if the vocabulary has at
/// most 65,536 ids, otherwise 4; zeros up to a multiple of 8; and for each document 8 bytes, the
/// position after its end.
#pragma once

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "core/sha256.hpp"
#include "data/tokenizer/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

struct TokenTraits {
  std::int64_t vocabulary_size = 0; ///< upper bound of ids, exclusive
  TokenId end_of_document = 0;
  std::string tokenizer; ///< Tokenizer::fingerprint
  std::string sources;   ///< 64 hexadecimal digits that identify the source texts
  std::string content;   ///< SHA-256 of the token bytes in the file
  std::int64_t tokens = 0, documents = 0;
};

/// Writes a file under a temporary name; commit() renames it. Memory: 8 bytes per document.
class TokenWriter {
public:
  /// `sources` has 64 hexadecimal digits. Errors: those of AtomicFile.
  static Result<TokenWriter> create(const std::filesystem::path& path, const Tokenizer& tokenizer,
                                    std::string sources);

  /// Appends tokens. After each end-of-document token the next document begins.
  Status append(std::span<const TokenId> ids);
  /// Finishes the file and returns its header's values. Call it once.
  Result<TokenTraits> commit();

private:
  TokenWriter(AtomicFile file, TokenTraits traits)
      : file_{std::move(file)}, traits_{std::move(traits)} {}

  AtomicFile file_;
  TokenTraits traits_;
  std::vector<std::uint64_t> ends_;
  Sha256 sha_;
};

/// Maps a whole file into memory; pages are read on access. The mapping stays valid when the file
/// is replaced by renaming. Truncating the file while it is mapped terminates the process.
class MappedFile {
public:
  /// Errors: Errc::data if the file does not exist or is not regular; Errc::io if the system
  /// refuses it.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_{bytes} {}

  std::span<const std::byte> bytes_;
};

/// Immutable; thread-safe.
class TokenFile {
public:
  /// Errors: Errc::corrupt if the file is not a token file, or if its header, length or document
  /// ends are damaged; those of MappedFile.
  static Result<std::shared_ptr<const TokenFile>> open(const std::filesystem::path& path);

  const TokenTraits& traits() const { return traits_; }
  /// Reads the tokens from `first` on, which must exist. Errors: Errc::corrupt for an id outside
  /// the vocabulary.
  Status read(std::int64_t first, std::span<TokenId> to) const;
  /// Returns the position after a document's last token, which is its end of document.
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
