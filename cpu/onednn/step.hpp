/// One node of the graph, lowered; and where its tensors lie while it runs.
#pragma once

#include "troupe/core/executable.hpp"
#include "troupe/core/graph.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::cpu {

/// The buffers that one enqueued run of a unit works on: what the caller had bound at that time.
struct Binding {
  float* parameters = nullptr; ///< of the unit
  float* gradients = nullptr;
  float* statistics = nullptr;
  BatchView batch;
};

/// Where a tensor lies, decided at compile time.
struct Place {
  enum class Kind : std::uint8_t { arena, own, parameter, gradient, statistic, input, target };
  Kind kind = Kind::own;  ///< own: in the executable's memory for what the plan left out
  std::size_t offset = 0; ///< bytes
};

/// Memory of the executable itself.
struct Memory {
  std::byte* arena = nullptr;
  std::byte* own = nullptr;
  std::byte* scratch = nullptr;
};

/// Addresses of tensors while a unit runs.
class Frame {
public:
  Frame(const std::vector<Place>& places, const Binding& binding, const Memory& memory)
      : places_{places}, binding_{binding}, memory_{memory} {}

  template <class T>
  T* data(TensorId id) const {
    return reinterpret_cast<T*>(address(places_[static_cast<std::size_t>(id)]));
  }
  /// Memory of the step that is running, as much as it asked for; 64-byte aligned.
  std::byte* scratch() const { return memory_.scratch; }

private:
  std::byte* address(const Place& place) const;

  const std::vector<Place>& places_;
  const Binding& binding_;
  Memory memory_;
};

/// Work of one node (or of several that were fused), on the stream's thread and its team. What
/// oneDNN throws becomes an error at the stream.
class Step {
public:
  virtual ~Step() = default;
  virtual Status run(const Frame& frame) = 0;
  virtual std::size_t scratch_bytes() const { return 0; }
  /// For profiles: the op; and how many floating point operations or bytes one run takes.
  std::string name, detail;
  double operations = 0, bytes = 0;
};

/// Sizes in scratch memory are rounded up, so that every part starts aligned.
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

} // namespace troupe::cpu
