/// Accounts for a device's memory by kind of use.
#pragma once

#include "core/device/device.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace troupe {

/// Memory that a device has allocated. Lives on after the device while one of its buffers exists.
/// Thread-safe.
class MemoryAccount {
public:
  void add(MemoryKind kind, std::size_t bytes);
  void remove(MemoryKind kind, std::size_t bytes);
  MemoryUse use() const;

private:
  mutable std::mutex mutex_;
  MemoryUse use_;
};

/// Memory that is counted during its lifetime.
class CountedBuffer final : public Buffer {
public:
  /// `account` may be null. The destructor calls `free`, unless that is empty.
  CountedBuffer(void* data, std::size_t bytes, MemoryKind kind,
                std::shared_ptr<MemoryAccount> account, std::function<void()> free = {});
  ~CountedBuffer() override;
  CountedBuffer(const CountedBuffer&) = delete;
  CountedBuffer& operator=(const CountedBuffer&) = delete;
  std::byte* data() const override { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const override { return bytes_; }

private:
  void* data_;
  std::size_t bytes_;
  MemoryKind kind_;
  std::shared_ptr<MemoryAccount> account_;
  std::function<void()> free_;
};

/// Formats a size for messages, rounded to three digits: "1.25 GiB".
std::string describe_bytes(std::size_t bytes);

/// Formats the memory use for messages, without unused kinds: "1.25 GiB activations, 97 MiB
/// parameters".
std::string describe(const MemoryUse& use);

} // namespace troupe
