#include "core/device/executable.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <limits>

namespace troupe {

std::optional<float> StepOutputs::find(std::string_view name) const {
  if (!names)
    return std::nullopt;
  const auto found = std::ranges::find(*names, name);
  if (found == names->end())
    return std::nullopt;
  return values[static_cast<std::size_t>(found - names->begin())];
}

float StepOutputs::operator[](std::string_view name) const {
  return find(name).value_or(std::numeric_limits<float>::quiet_NaN());
}

void Executable::refresh_all(Stream& stream) {
  const auto units = static_cast<UnitId>(layout().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    refresh(stream, unit);
}

void Executable::run(Stream& stream) {
  const auto units = static_cast<UnitId>(layout().unit_elements.size());
  for (UnitId unit = 0; unit < units; ++unit)
    forward(stream, unit);
  for (UnitId unit = units - 1; unit >= 0; --unit)
    backward(stream, unit);
}

Result<PassTimes> Executable::time_steps(Stream&) {
  return fail(Errc::unsupported, "this engine does not time its steps; unset devices.engine");
}

} // namespace troupe
