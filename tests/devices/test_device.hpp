/// Tests that run on every device: each program that compiles them brings its own device.
#pragma once

#include "core/device/device.hpp"
#include "core/graph/precision.hpp"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

namespace troupe::testing {

/// The device under test; null with a reason in `why` where the machine has none.
std::unique_ptr<Device> make_test_device(std::string& why);

/// As above, but skips the test where there is none.
inline std::unique_ptr<Device> device_or_skip() {
  std::string why;
  auto device = make_test_device(why);
  if (!device)
    SKIP("no CUDA device: " << why);
  return device;
}

/// What differs between devices by design.
struct DeviceTraits {
  std::vector<Precision> precisions; ///< in which its results are compared with the interpreter's
  /// Its loader writes images in the compute type, with so many channels (nn/passes/format_input).
  std::int64_t image_channels = 0; ///< 0: in f32, with as many as there are
  bool stores_indices = true;      ///< of max_pool as the graph says, i32
  /// Two executables of a graph run the same kernels. CUDA chooses by measuring, and remembers.
  bool same_kernels = true;
  /// Its sums are near enough to the interpreter's that in the deep networks tested here no value
  /// falls on the other side of a relu in fp32.
  bool same_relu_edges = true;
  bool language_models = true; ///< it has kernels for their ops
};
DeviceTraits test_traits();

/// For helpers that tests call in several threads at once: Catch2's assertions, except for one that
/// fails, are for one thread at a time.
inline void require(const Status& status) {
  if (!status)
    FAIL(status.error().to_string());
}

/// Values in a device's memory. Everything enqueued on `stream` and finished before it is read.
template <class T>
class DeviceVector {
public:
  DeviceVector(Device& device, Stream& stream, const std::vector<T>& values)
      : device_{device}, stream_{stream}, size_{values.size()},
        buffer_{device.allocate(values.size() * sizeof(T), MemoryKind::data).value()} {
    write(values);
  }

  /// As many values as there were at first.
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
