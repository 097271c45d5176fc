/// Advice for errors that report too little memory.
#pragma once

#include "core/device/device.hpp"
#include "core/error.hpp"

#include <string_view>

namespace troupe {

/// Returns the settings that reduce this kind of memory.
std::string_view settings_that_help(MemoryKind kind);

/// Converts an error of a job that has not committed a step: out_of_memory becomes invalid_input,
/// because the config asks for more memory than the device has.
Error before_first_step(Error error);

} // namespace troupe
