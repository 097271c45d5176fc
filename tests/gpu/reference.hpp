/// Kernels beside the scalar interpreter: values in device memory in any element type, and what the
/// interpreter makes of the same (rounded) values.
#pragma once

#include "core/graph/graph.hpp"
#include "gpu/cuda_device.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

using Floats = std::vector<float>;

/// Round to nearest of an element type, as float.
Floats rounded(const Floats& values, DType dtype);
/// Standard normal, rounded to the type.
Floats normal_values(std::size_t elements, std::uint64_t stream, DType dtype = DType::f32);

/// One node, run by the interpreter in f32 on these inputs. Integer tensors (labels, indices) are
/// given and returned as floats.
struct ReferenceTensor {
  Shape shape;
  Floats values = {};
  DType dtype = DType::f32;
};
/// Fills in the values of the outputs; inputs that are statistics are updated in place.
void run_reference(Op op, const Attributes& attributes, std::vector<ReferenceTensor>& inputs,
                   std::vector<ReferenceTensor>& outputs);

/// The device and a stream; constructing it SKIPs the test where there is no device.
class GpuFixture {
public:
  GpuFixture();

  /// `values` in device memory in an element type; i32 and u8 too. At an offset of `skew` elements
  /// from an aligned address.
  void* upload(const Floats& values, DType dtype = DType::f32, std::size_t skew = 0);
  /// Room for as many elements, filled with ones so that what is not written is seen.
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

/// |value - expected| <= 1e-5 + relative · the largest expected value.
void require_near(const Floats& values, const Floats& expected, float relative,
                  const std::string& what);
/// For results that are rounded once to the type.
float tolerance(DType dtype);

} // namespace troupe::testing
