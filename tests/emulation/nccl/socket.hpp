/// Sockets between processes of this machine, at names that vanish with the listening process.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace emulation::nccl {

/// Child processes do not inherit it.
class Socket {
public:
  explicit Socket(int descriptor = -1) : descriptor_{descriptor} {}
  Socket(Socket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  Socket& operator=(Socket&&) = delete;
  ~Socket();

  static Socket listening(const std::string& name);
  static Socket connected(const std::string& name);
  /// Blocks until a peer connects.
  Socket accept() const;

  explicit operator bool() const { return descriptor_ >= 0; }
  /// Transfer all bytes; return false when the other end is closed.
  bool send(const void* data, std::size_t bytes) const;
  bool receive(void* data, std::size_t bytes) const;
  /// Ends send() and receive() of both ends, in any thread.
  void shut() const;

private:
  int descriptor_;
};

} // namespace emulation::nccl
