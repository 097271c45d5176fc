/// Who uses how much of a device's memory.
#pragma once

#include "core/device/device.hpp"

#include <mutex>
#include <string>

namespace troupe {

/// What a device has handed out. Outlives the device as long as one of its buffers does.
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

/// For messages, rounded to three digits: "1.25 GiB".
std::string describe_bytes(std::size_t bytes);

/// For messages, kinds that are not used left out: "1.25 GiB activations, 97 MiB parameters".
std::string describe(const MemoryUse& use);

} // namespace troupe
