/// The requests of people to end a node, or the whole job.
#pragma once

#include <cstdint>

namespace troupe::actors {

enum class Stopping : std::uint8_t {
  job,   ///< all nodes finish their steps, save, and end
  node,  ///< only this node ends, if the others can continue
  signal ///< like `node`; like `job` if the others could not continue
};

template <class Inspector>
bool inspect(Inspector& f, Stopping& x) {
  auto get = [&x] { return static_cast<std::uint8_t>(x); };
  auto set = [&x](std::uint8_t value) {
    x = static_cast<Stopping>(value);
    return x <= Stopping::signal;
  };
  return f.apply(get, set);
}

} // namespace troupe::actors
