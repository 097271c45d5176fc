#include "executable.hpp"

namespace troupe {

void Executable::run(Stream& stream) {
  const auto units = static_cast<UnitId>(layout().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    forward(stream, unit);
  for (UnitId unit = units - 1; unit >= 0; --unit)
    backward(stream, unit);
}

} // namespace troupe
