#include "core/config/capabilities.hpp"

#include "core/cores.hpp"

namespace troupe {

Capabilities host_capabilities() {
  Capabilities found;
  found.host_cores = usable_cores().count();
  return found;
}

} // namespace troupe
