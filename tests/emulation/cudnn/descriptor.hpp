/// Descriptors: attributes by name, each with the type and number of elements in cuDNN's
/// documentation.
#pragma once

#include "tests/emulation/cudnn/engines.hpp"
#include "tests/emulation/cudnn/graph.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace emulation::cudnn {

struct Descriptor;
using DescriptorPtr = std::shared_ptr<Descriptor>;

/// Members that cuDNN sets and users read exist only when they belong to the descriptor's type.
struct Descriptor {
  struct Attribute {
    cudnnBackendAttributeType_t type;
    std::vector<std::byte> bytes;
    std::vector<DescriptorPtr>
        descriptors; ///< replaces the bytes for attributes that are descriptors

    template <class T>
    std::span<const T> as() const {
      return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
  };

  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<int, Attribute> attributes;
  std::shared_ptr<const Graph> graph; ///< of operation graphs and objects derived from them
  Engine engine = {};                 ///< of engines, configurations and plans

  const Attribute* find(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }
};

/// The target of a cudnnBackendDescriptor_t.
struct Held {
  DescriptorPtr descriptor;
};
inline Held& held(cudnnBackendDescriptor_t handle) {
  return *static_cast<Held*>(handle);
}

/// Stores the calling thread's last reason; returns `status`.
cudnnStatus_t refuse(cudnnStatus_t status, std::string why);
const std::string& last_reason();

std::size_t size_of_attribute(cudnnBackendAttributeType_t type);
/// Sets an attribute as a user does.
cudnnStatus_t set(Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
/// Checks that all attributes that this type of descriptor needs are set.
cudnnStatus_t check_complete(const Descriptor& descriptor);

/// Builds and checks a graph from the operations of its descriptor.
cudnnStatus_t finalize_graph(Descriptor& descriptor);

} // namespace emulation::cudnn
