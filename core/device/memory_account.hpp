/// Accounts for a device's memory by kind of use.
#pragma once

#include "core/device/device.hpp"

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

/// Formats a size for messages, rounded to three digits: "1.25 GiB".
std::string describe_bytes(std::size_t bytes);

/// Formats the memory use for messages, without unused kinds: "1.25 GiB activations, 97 MiB
/// parameters".
std::string describe(const MemoryUse& use);

} // namespace troupe
