/// Incremental SHA-256 (OpenSSL).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st; // OpenSSL's EVP_MD_CTX

namespace troupe {

class Sha256 {
public:
  Sha256();

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span{text})); }

  /// Returns the digest of all bytes so far as 64 lower-case hex characters, then starts over.
  std::string hex_digest();

private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

} // namespace troupe
