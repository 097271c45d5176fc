/// Descriptors: attributes by name, each of the type and number that cuDNN's documentation gives
/// it.
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

/// Of what cuDNN sets and users read, only the kind that belongs to the descriptor's type is there.
struct Descriptor {
  struct Attribute {
    cudnnBackendAttributeType_t type;
    std::vector<std::byte> bytes;
    std::vector<DescriptorPtr> descriptors; ///< instead, for attributes that are descriptors

    template <class T>
    std::span<const T> as() const {
      return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
  };

  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<int, Attribute> attributes;
  std::shared_ptr<const Graph> graph; ///< operation graphs, and what was made for them
  Engine engine = {};                 ///< engines, configurations, plans

  const Attribute* find(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }
};

/// What a cudnnBackendDescriptor_t points to.
struct Held {
  DescriptorPtr descriptor;
};
inline Held& held(cudnnBackendDescriptor_t handle) {
  return *static_cast<Held*>(handle);
}

/// The calling thread's last reason; gives the status back.
cudnnStatus_t refuse(cudnnStatus_t status, std::string why);
const std::string& last_reason();

std::size_t size_of_attribute(cudnnBackendAttributeType_t type);
/// Sets an attribute as a user does.
cudnnStatus_t set(Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
/// Whether everything is there that this type of descriptor needs.
cudnnStatus_t check_complete(const Descriptor& descriptor);

/// Builds and checks a graph from its descriptor's operations.
cudnnStatus_t finalize_graph(Descriptor& descriptor);

} // namespace emulation::cudnn
