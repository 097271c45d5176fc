/// Where the tensors of a compiled graph lie: what every lowering shares.
#pragma once

#include "core/device/executable.hpp"
#include "core/graph/graph.hpp"

#include <cstddef>
#include <vector>

namespace troupe {

/// The buffers that one enqueued run of a unit works on: what the caller had bound at that time.
struct Binding {
  float* parameters = nullptr; ///< of the unit
  float* gradients = nullptr;
  float* statistics = nullptr;
  const float* loss_scale = nullptr;
  BatchAddresses batch = {};
};

/// Where a tensor lies, decided at compile time.
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
  Kind kind = Kind::own;  ///< own: in the executable's memory for what the plan left out
  std::size_t offset = 0; ///< bytes
};

struct Placement {
  std::vector<Place> places; ///< by TensorId
  std::size_t own_bytes = 0; ///< of activations that the memory plan left out
};

/// Activations where the plan says, parameters, gradients and statistics where the layout says.
/// What the plan leaves out is packed into memory of its own, each tensor at a multiple of
/// `alignment` bytes. Errors: internal when plan or layout are of another graph.
Result<Placement> place_tensors(const Graph& graph, const MemoryPlan& plan,
                                const StorageLayout& layout, std::size_t alignment);

/// Memory of the executable itself.
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
  /// Memory of the step that is running, as much as it asked for.
  std::byte* scratch() const { return memory_.scratch; }

private:
  std::byte* address(const Place& place) const;

  const std::vector<Place>& places_;
  const Binding& binding_;
  ExecutableMemory memory_;
};

} // namespace troupe
