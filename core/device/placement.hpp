/// Locations of a compiled graph's tensors, shared by every lowering.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

/// The buffers of one enqueued run of a unit: those that the caller had bound at that time.
struct Binding {
  float* parameters = nullptr; ///< of the unit
  float* gradients = nullptr;
  float* statistics = nullptr;
  const float* loss_scale = nullptr;
  BatchAddresses batch = {};
};

/// The location of a tensor, decided at compile time.
struct Place {
  enum class Kind : std::uint8_t {
    arena,
    own,
    parameter,
    gradient,
    statistic,
    batch, ///< offset: the index among the batch's addresses
    loss_scale
  };
  Kind kind = Kind::own;  ///< own: in the executable's own memory, for tensors outside the plan
  std::size_t offset = 0; ///< bytes
};

struct Placement {
  std::vector<Place> places; ///< by TensorId
  std::size_t own_bytes = 0; ///< of activations outside the memory plan
};

/// Places activations by the plan, and parameters, gradients and statistics by the layout. Tensors
/// outside the plan are packed into separate memory, each at a multiple of `alignment` bytes.
/// Errors: internal when plan or layout belong to another graph.
Result<Placement> place_tensors(const Graph& graph, const MemoryPlan& plan,
                                const StorageLayout& layout, std::size_t alignment);

/// Whether the node gives its input another shape without moving it: input and output share memory.
bool only_renames(const Node& node, const std::vector<Place>& places);

/// Memory that the executable owns.
struct ExecutableMemory {
  std::byte* arena = nullptr;
  std::byte* own = nullptr;
  std::byte* scratch = nullptr;
};

/// Addresses of tensors while a unit runs.
class Frame {
public:
  Frame(const std::vector<Place>& places, const Binding& binding, const ExecutableMemory& memory)
      : places_{places}, binding_{binding}, memory_{memory} {}

  template <class T>
  T* data(TensorId id) const {
    return reinterpret_cast<T*>(address(places_[static_cast<std::size_t>(id)]));
  }
  const Binding& binding() const { return binding_; }
  /// Scratch memory of the running step, as much as it asked for.
  std::byte* scratch() const { return memory_.scratch; }

private:
  std::byte* address(const Place& place) const;

  const std::vector<Place>& places_;
  const Binding& binding_;
  ExecutableMemory memory_;
};

/// Adds the node that runs, and its inputs and outputs by index, to a Frame or a class with the
/// same data().
template <class Base>
struct OfNode : Base {
  const Node& node;

  template <class T>
  const T& attributes() const {
    return std::get<T>(node.attributes);
  }
  template <class T = void>
  T* in(std::size_t i) const {
    return Base::template data<T>(node.inputs[i]);
  }
  /// Null if the node has no such input.
  template <class T = void>
  T* in_or_null(std::size_t i) const {
    return i < node.inputs.size() ? in<T>(i) : nullptr;
  }
  template <class T = void>
  T* out(std::size_t i) const {
    return Base::template data<T>(node.outputs[i]);
  }
};

} // namespace troupe
