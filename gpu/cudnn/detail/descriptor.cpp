#include "gpu/cudnn/detail/descriptor.hpp"

#include "core/fail.hpp"

#include <array>
#include <utility>

namespace troupe::gpu::cudnn {

namespace {

/// cuDNN groups its codes by thousands; 3000 to 3999 are the variants of "not supported".
bool is_unsupported(cudnnStatus_t status) {
  return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;
}

} // namespace

tl::unexpected<Error> cudnn_failure(const CudnnLibrary& library, cudnnStatus_t status,
                                    std::string_view doing) {
  std::array<char, 1024> message = {};
  library.last_error_string(message.data(), message.size());
  return fail(is_unsupported(status) ? Errc::unsupported : Errc::device, "cuDNN, {}: {}{}{}", doing,
              library.error_string(status), message[0] != '\0' ? ": " : "", message.data());
}

Result<Descriptor> Descriptor::create(const CudnnLibrary& library,
                                      cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t handle = nullptr;
  if (const auto status = library.create_descriptor(type, &handle); status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library, status,
                         fmt::format("making a descriptor of type {}", static_cast<int>(type)));
  return Descriptor(handle, library.destroy_descriptor);
}

DescriptorBuilder::DescriptorBuilder(const CudnnLibrary& library, cudnnBackendDescriptorType_t type,
                                     std::string what)
    : library_(library), what_(std::move(what)), descriptor_(Descriptor::create(library, type)) {}

DescriptorBuilder& DescriptorBuilder::set(cudnnBackendAttributeName_t name,
                                          const Descriptor& value) {
  const auto handle = value.get();
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
}

DescriptorBuilder&
DescriptorBuilder::set_descriptors(cudnnBackendAttributeName_t name,
                                   std::span<const cudnnBackendDescriptor_t> values) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(values.size()),
             values.data());
}

DescriptorBuilder& DescriptorBuilder::set(cudnnBackendAttributeName_t name,
                                          cudnnBackendAttributeType_t type, std::int64_t count,
                                          const void* values) {
  if (!descriptor_)
    return *this;
  const auto status = library_.set_attribute(descriptor_->get(), name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS)
    descriptor_ = cudnn_failure(library_, status,
                                fmt::format("attribute {} of {}", static_cast<int>(name), what_));
  return *this;
}

Result<Descriptor> DescriptorBuilder::finalize() {
  if (!descriptor_)
    return std::move(descriptor_);
  if (const auto status = library_.finalize(descriptor_->get()); status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library_, status, what_);
  return std::move(descriptor_);
}

Result<std::vector<Descriptor>> descriptor_attribute(const CudnnLibrary& library,
                                                     const Descriptor& descriptor,
                                                     cudnnBackendAttributeName_t name,
                                                     cudnnBackendDescriptorType_t type) {
  std::int64_t count = 0;
  auto status = library.get_attribute(descriptor.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                      &count, nullptr);
  if (status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library, status, "counting descriptors");
  // cuDNN fills descriptors that the caller created.
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < count; ++i) {
    TROUPE_TRY(auto empty, Descriptor::create(library, type));
    handles.push_back(empty.get());
    found.push_back(std::move(empty));
  }
  if (count > 0)
    status = library.get_attribute(descriptor.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                   &count, handles.data());
  if (status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library, status, "reading descriptors");
  found.resize(static_cast<std::size_t>(count));
  return found;
}

} // namespace troupe::gpu::cudnn
