/// A file descriptor that is closed on destruction.
#pragma once

#include <cerrno>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace troupe::net {

class Descriptor {
public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }

  int number() const { return number_; }
  /// Transfers ownership of the descriptor to the caller.
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_;
};

/// Returns false on failure, with errno set; part of the text may then be written.
inline bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

} // namespace troupe::net
