#include "metrics/http/detail/basic_password.hpp"

#include "core/base64.hpp"
#include "core/sha256.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

namespace troupe::metrics {

namespace {

std::string digest_of(std::string_view text) {
  Sha256 digest;
  digest.update(text);
  return digest.hex_digest();
}

/// Compares digests, whose length does not depend on the texts.
bool are_equal(std::string_view a, std::string_view b) {
  const auto of_a = digest_of(a), of_b = digest_of(b);
  return CRYPTO_memcmp(of_a.data(), of_b.data(), of_a.size()) == 0;
}

} // namespace

bool has_password(std::string_view authorization, std::string_view password) {
  constexpr std::string_view scheme = "basic ";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (!std::ranges::equal(authorization.substr(0, scheme.size()), scheme, same))
    return false;
  const auto sent = from_base64(authorization.substr(scheme.size()));
  const auto end = sent ? sent->find(':') : std::string::npos;
  return end != std::string::npos && are_equal(std::string_view{*sent}.substr(end + 1), password);
}

} // namespace troupe::metrics
