#include "core/sha256.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <new>

namespace troupe {

namespace {

// These calls only fail when memory runs out.
void require(int result) {
  if (result != 1)
    throw std::bad_alloc{};
}

} // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ != nullptr);
  require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::hex_digest() {
  std::array<unsigned char, 32> digest{};
  require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
  require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

} // namespace troupe
