/// Tests that run on every device: each program that compiles them brings its own device.
#pragma once

#include "troupe/core/device.hpp"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

namespace troupe::tests {

/// The device under test; null with a reason in `why` where the machine has none.
std::unique_ptr<Device> make_test_device(std::string& why);

/// Values in a device's memory. Everything enqueued on `stream` and finished before it is read.
template <class T>
class DeviceVector {
public:
  DeviceVector(Device& device, Stream& stream, const std::vector<T>& values)
      : device_{device}, stream_{stream}, size_{values.size()},
        buffer_{device.allocate(values.size() * sizeof(T), MemoryKind::data).value()} {
    device_.copy(stream_, buffer_->data(), values.data(), size_ * sizeof(T));
    REQUIRE(stream_.synchronize());
  }

  T* data() const { return reinterpret_cast<T*>(buffer_->data()); }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    device_.copy(stream_, values.data(), buffer_->data(), size_ * sizeof(T));
    REQUIRE(stream_.synchronize());
    return values;
  }

private:
  Device& device_;
  Stream& stream_;
  std::size_t size_;
  BufferPtr buffer_;
};

} // namespace troupe::tests
