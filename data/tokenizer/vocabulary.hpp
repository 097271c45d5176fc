/// The tokens of a tokenizer: the bytes of each id.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe::data {

using TokenId = std::int32_t;

/// Hash that finds strings by string_view without a copy.
struct BytesHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view bytes) const {
    return std::hash<std::string_view>{}(bytes);
  }
};
template <class Value>
using MapOfBytes = std::unordered_map<std::string, Value, BytesHash, std::equal_to<>>;

class Vocabulary {
public:
  static constexpr std::int64_t most_ids = std::int64_t{1} << 20;

  /// Errors (Errc::data): an id outside 0 to most_ids - 1, an id that exists already, or bytes that
  /// exist already.
  Status add(std::int64_t id, std::string bytes);
  /// Adds a token that find() does not return and no merge produces.
  Status add_special(std::int64_t id, std::string bytes);

  std::optional<TokenId> find(std::string_view bytes) const;
  /// Returns the token of a single byte. Errors (Errc::data): no token has it.
  Result<TokenId> of_byte(unsigned char byte) const;
  const std::string* bytes(std::int64_t id) const; ///< null if no token has the id
  /// Returns one more than the largest id; some ids may have no token.
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::vector<TokenId> unused() const; ///< ids without a token, ascending

private:
  Status check(std::int64_t id, std::string_view bytes) const;

  std::vector<std::optional<std::string>> tokens_;
  MapOfBytes<TokenId> ids_;
};

} // namespace troupe::data
