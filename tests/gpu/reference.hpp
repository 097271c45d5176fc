/// Compares kernels with the scalar interpreter: device values of any element type, and the
/// interpreter's results for the same (rounded) values.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/cuda_device.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

using Floats = std::vector<float>;

/// Rounds to the nearest value of an element type; returns floats.
Floats rounded(const Floats& values, DType dtype);
/// Returns standard normal values, rounded to the type.
Floats normal_values(std::size_t elements, std::uint64_t stream, DType dtype = DType::f32);

/// A tensor of one node that the interpreter runs in f32. Integer tensors (labels, indices) are
/// given and returned as floats.
struct ReferenceTensor {
  Shape shape;
  Floats values = {};
  DType dtype = DType::f32;
};
/// Fills in the outputs; updates inputs that are statistics in place.
void run_reference(Op op, const Attributes& attributes, std::vector<ReferenceTensor>& inputs,
                   std::vector<ReferenceTensor>& outputs);

/// A device and a stream; the constructor skips the test when there is no device.
class GpuFixture {
public:
  GpuFixture();

  /// Copies `values` to device memory in an element type, also i32 and u8, at an offset of `skew`
  /// elements from an aligned address.
  void* upload(const Floats& values, DType dtype = DType::f32, std::size_t skew = 0);
  /// Allocates `elements` elements, filled with ones so that elements that are not written are
  /// detected.
  void* room(std::size_t elements, DType dtype = DType::f32, std::size_t skew = 0);
  Floats download(const void* memory, std::size_t elements, DType dtype = DType::f32);
  float* floats(const Floats& values) { return static_cast<float*>(upload(values)); }
  float* float_room(std::size_t elements) { return static_cast<float*>(room(elements)); }

  gpu::CudaStream& stream() { return gpu::cuda_stream(*stream_); }
  cudaStream_t handle() { return stream().handle(); }
  gpu::CudaDevice& device() { return *device_; }

private:
  std::unique_ptr<gpu::CudaDevice> device_;
  std::vector<BufferPtr> buffers_;
  std::unique_ptr<Stream> stream_;
};

/// Requires |value - expected| <= 1e-5 + relative · the largest expected value.
void require_near(const Floats& values, const Floats& expected, float relative,
                  const std::string& what);
/// Returns the tolerance for results that are rounded once to the type.
float tolerance(DType dtype);

} // namespace troupe::testing
