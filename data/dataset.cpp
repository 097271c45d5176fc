#include "data/dataset.hpp"

#include "core/sha256.hpp"

namespace troupe::data {

std::string_view to_string(Split split) {
  return split == Split::train ? "train" : "test";
}

std::string Dataset::fingerprint() const {
  Sha256 sha;
  add_content(sha);
  return sha.hex_digest().substr(0, 32);
}

} // namespace troupe::data
