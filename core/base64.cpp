#include "core/base64.hpp"

#include <iterator>

#include <openssl/evp.h>

namespace troupe {

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0)
    return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int count = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (count != std::ssize(bytes)) // negative, or smaller if it has skipped white space
    return std::nullopt;
  const auto padding = text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

} // namespace troupe
