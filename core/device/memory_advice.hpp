/// Advice for errors that report too little memory.
#pragma once

#include "core/device/device.hpp"
#include "core/error.hpp"

#include <string_view>

namespace troupe {

/// The settings that make this kind smaller.
std::string_view settings_that_help(MemoryKind kind);

/// An error of a job that has not committed a step: out_of_memory becomes invalid_input, since its
/// config asks for more than there is.
Error before_first_step(Error error);

} // namespace troupe
