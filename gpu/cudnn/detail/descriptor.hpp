/// Descriptors of cuDNN's backend API: opaque objects whose attributes are set before they are
/// finalized.
#pragma once

#include "gpu/libraries.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::gpu::cudnn {

/// Maps a value's type to the type tag that cuDNN's attribute functions require.
template <class T>
struct AttributeType;

#define TROUPE_CUDNN_ATTRIBUTE(type, tag)                                                          \
  template <>                                                                                      \
  struct AttributeType<type> {                                                                     \
    static constexpr auto value = tag;                                                             \
  }
TROUPE_CUDNN_ATTRIBUTE(std::int64_t, CUDNN_TYPE_INT64);
TROUPE_CUDNN_ATTRIBUTE(float, CUDNN_TYPE_FLOAT);
TROUPE_CUDNN_ATTRIBUTE(bool, CUDNN_TYPE_BOOLEAN);
TROUPE_CUDNN_ATTRIBUTE(char, CUDNN_TYPE_CHAR);
TROUPE_CUDNN_ATTRIBUTE(void*, CUDNN_TYPE_VOID_PTR);
TROUPE_CUDNN_ATTRIBUTE(cudnnHandle_t, CUDNN_TYPE_HANDLE);
TROUPE_CUDNN_ATTRIBUTE(cudnnDataType_t, CUDNN_TYPE_DATA_TYPE);
TROUPE_CUDNN_ATTRIBUTE(cudnnConvolutionMode_t, CUDNN_TYPE_CONVOLUTION_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnPointwiseMode_t, CUDNN_TYPE_POINTWISE_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnReduceTensorOp_t, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
TROUPE_CUDNN_ATTRIBUTE(cudnnGenStatsMode_t, CUDNN_TYPE_GENSTATS_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendHeurMode_t, CUDNN_TYPE_HEUR_MODE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendKnobType_t, CUDNN_TYPE_KNOB_TYPE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendNumericalNote_t, CUDNN_TYPE_NUMERICAL_NOTE);
TROUPE_CUDNN_ATTRIBUTE(cudnnBackendBehaviorNote_t, CUDNN_TYPE_BEHAVIOR_NOTE);
#undef TROUPE_CUDNN_ATTRIBUTE

/// Returns "CUDNN_STATUS_NOT_SUPPORTED: why" for the calling thread's last failure. The code is
/// unsupported if cuDNN reports that, else device.
tl::unexpected<Error> cudnn_failure(const CudnnLibrary& library, cudnnStatus_t status,
                                    std::string_view doing);

/// Owns one descriptor. Movable; null when default-constructed.
class Descriptor {
public:
  Descriptor() = default;
  static Result<Descriptor> create(const CudnnLibrary& library, cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return handle_.get(); }

private:
  using Destroy = decltype(CudnnLibrary::destroy_descriptor);
  Descriptor(cudnnBackendDescriptor_t handle, Destroy destroy) : handle_(handle, destroy) {}

  std::unique_ptr<void, Destroy> handle_{nullptr, nullptr};
};

/// Builds a descriptor in one expression; finalize() returns the first failure.
class DescriptorBuilder {
public:
  DescriptorBuilder(const CudnnLibrary& library, cudnnBackendDescriptorType_t type,
                    std::string what);

  template <class T>
  DescriptorBuilder& set(cudnnBackendAttributeName_t name, std::span<const T> values) {
    return set(name, AttributeType<T>::value, static_cast<std::int64_t>(values.size()),
               values.data());
  }
  template <class T>
  DescriptorBuilder& set(cudnnBackendAttributeName_t name, const T& value) {
    return set(name, AttributeType<T>::value, 1, &value);
  }
  DescriptorBuilder& set(cudnnBackendAttributeName_t name, const Descriptor& value);
  /// Has a name other than set() because the compiler cannot tell a descriptor handle from any
  /// other void*.
  DescriptorBuilder& set_descriptors(cudnnBackendAttributeName_t name,
                                     std::span<const cudnnBackendDescriptor_t> values);
  Result<Descriptor> finalize();

private:
  DescriptorBuilder& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         std::int64_t count, const void* values);

  const CudnnLibrary& library_;
  std::string what_;
  Result<Descriptor> descriptor_;
};

/// Returns an attribute's values; empty if the attribute is not set.
template <class T>
Result<std::vector<T>> get_attribute(const CudnnLibrary& library, const Descriptor& descriptor,
                                     cudnnBackendAttributeName_t name) {
  std::int64_t count = 0;
  auto status =
      library.get_attribute(descriptor.get(), name, AttributeType<T>::value, 0, &count, nullptr);
  std::vector<T> values(static_cast<std::size_t>(status == CUDNN_STATUS_SUCCESS ? count : 0));
  if (!values.empty())
    status = library.get_attribute(descriptor.get(), name, AttributeType<T>::value, count, &count,
                                   values.data());
  if (status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library, status, "reading an attribute");
  values.resize(static_cast<std::size_t>(count));
  return values;
}

/// Returns the descriptors inside a descriptor; `type` is their type.
Result<std::vector<Descriptor>> descriptor_attribute(const CudnnLibrary& library,
                                                     const Descriptor& descriptor,
                                                     cudnnBackendAttributeName_t name,
                                                     cudnnBackendDescriptorType_t type);

} // namespace troupe::gpu::cudnn
