/// Tests that run on every device: every program that compiles them provides its device.
#pragma once

#include "core/device/device.hpp"
#include "core/graph/precision.hpp"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

namespace troupe::testing {

/// Returns the device under test. When the machine has none, returns null and sets `why`.
std::unique_ptr<Device> make_test_device(std::string& why);

/// Returns the device under test, or skips the test when there is none.
inline std::unique_ptr<Device> device_or_skip() {
  std::string why;
  auto device = make_test_device(why);
  if (!device)
    SKIP("no CUDA device: " << why);
  return device;
}

/// Differences between devices by design.
struct DeviceTraits {
  std::vector<Precision>
      precisions; ///< precisions in which its results are compared with the interpreter's
  /// Channels of the images that its loader writes in the compute type (nn/passes/format_input).
  std::int64_t image_channels = 0; ///< 0: f32, with the images' channels
  bool stores_indices = true; ///< stores indices of max_pool as the graph declares them, in i32
  /// Two executables of a graph run the same kernels. CUDA chooses kernels by measuring and
  /// remembers the choice.
  bool same_kernels = true;
  /// Its sums are so near to the interpreter's that, in the deep networks tested here, no value
  /// falls on the other side of a relu in fp32.
  bool same_relu_edges = true;
  bool language_models = true; ///< has kernels for the ops of language models
};
DeviceTraits test_traits();

/// Fails the test on an error. For helpers that several test threads call at once: of Catch2's
/// assertions, only a failing one is safe there.
inline void require(const Status& status) {
  if (!status)
    FAIL(status.error().to_string());
}

/// Values in device memory. All work is enqueued on `stream` and finished before it is read.
template <class T>
class DeviceVector {
public:
  DeviceVector(Device& device, Stream& stream, const std::vector<T>& values)
      : device_{device}, stream_{stream}, size_{values.size()},
        buffer_{device.allocate(values.size() * sizeof(T), MemoryKind::data).value()} {
    write(values);
  }

  /// Writes values; their number must be that of the constructor.
  void write(const std::vector<T>& values) {
    if (values.size() != size_)
      FAIL(values.size() << " values for " << size_);
    device_.copy(stream_, buffer_->data(), values.data(), size_ * sizeof(T));
    require(stream_.synchronize());
  }
  std::size_t size() const { return size_; }
  T* data() const { return reinterpret_cast<T*>(buffer_->data()); }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    device_.copy(stream_, values.data(), buffer_->data(), size_ * sizeof(T));
    require(stream_.synchronize());
    return values;
  }

private:
  Device& device_;
  Stream& stream_;
  std::size_t size_;
  BufferPtr buffer_;
};

} // namespace troupe::testing
