/// The device that plans are made for: a GPU of this machine, or the description of another one.
#pragma once

#include "gpu/cudnn/detail/descriptor.hpp"
#include "gpu/device_rates.hpp"

#include <cuda_runtime_api.h>
#include <memory>
#include <string>
#include <type_traits>

namespace troupe::gpu::cudnn {

/// With a GPU it owns a cuDNN handle: one thread at a time. Without one ("deviceless", cuDNN 9.11
/// and later), plans can be searched, finalized and stored, but not run.
class Target {
public:
  /// Opens the GPU with this index and makes it the calling thread's current device.
  static Result<Target> of_device(const CudnnLibrary& library, int device);
  /// Describes a GPU of another machine: `properties` is cuDNN's descriptor of it.
  Target(const CudnnLibrary& library, const std::string& name, int sm, int driver,
         DeviceRates rates = {}, Descriptor properties = {});

  const CudnnLibrary& library() const { return library_; }
  /// Null without a GPU.
  cudnnHandle_t handle() const { return handle_.get(); }
  /// Sets the stream that later executions run on.
  Status use_stream(cudaStream_t stream) const;
  /// 90 for sm_90.
  int sm() const { return sm_; }
  /// "NVIDIA H200, sm_90, driver 13000, cuDNN 91900": plans made for a key run on every device with
  /// that key.
  const std::string& key() const { return key_; }
  const DeviceRates& rates() const { return rates_; }

  /// Sets the device on a descriptor: attribute `handle` with a GPU, else `properties`.
  void set(DescriptorBuilder& builder, cudnnBackendAttributeName_t handle,
           cudnnBackendAttributeName_t properties) const;
  /// For descriptors that get the handle from their graph: sets nothing with a GPU.
  void set_properties(DescriptorBuilder& builder, cudnnBackendAttributeName_t properties) const;

private:
  using Handle =
      std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, decltype(CudnnLibrary::destroy)>;

  CudnnLibrary library_;
  Handle handle_;
  Descriptor properties_; ///< null with a GPU
  int sm_;
  std::string key_;
  DeviceRates rates_;
};

} // namespace troupe::gpu::cudnn
