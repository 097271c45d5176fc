/// Mutations of files that a reader of any format must survive.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <string>

namespace troupe::testing {

using MutationRandom = std::mt19937;

inline std::size_t random_place(MutationRandom& random, const std::string& text) {
  return text.empty() ? 0 : random() % text.size();
}

inline void flip_bytes(MutationRandom& random, std::string& file) {
  for (auto times = 1 + random() % 8; times-- > 0 && !file.empty();)
    file[random_place(random, file)] = static_cast<char>(random());
}

inline void cut(MutationRandom& random, std::string& file) {
  file.resize(random_place(random, file));
}

inline void repeat_a_piece(MutationRandom& random, std::string& file) {
  const auto from = random_place(random, file);
  file.insert(random_place(random, file), file.substr(from, random() % 200));
}

inline void remove_a_piece(MutationRandom& random, std::string& file) {
  file.erase(random_place(random, file), random() % 40);
}

/// Overwrites two to four adjacent bytes: the size of most length fields.
inline void overwrite_a_number(MutationRandom& random, std::string& file) {
  constexpr std::array<char, 5> bytes = {'\0', '\x01', '\x7f', '\x80', '\xff'};
  const auto at = random_place(random, file);
  for (auto i = at; i < file.size() && i < at + 2 + random() % 3; ++i)
    file[i] = bytes[random() % bytes.size()];
}

} // namespace troupe::testing
