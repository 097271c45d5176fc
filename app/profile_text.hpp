/// Output of `troupe train --profile`.
#pragma once

#include "training/profile/step_profile.hpp"

#include <string>

namespace troupe::app {

/// A table of the rows, longest first, between a line on the device and one on the step.
std::string profile_text(const training::StepProfile& profile);

/// The same values as one JSON object; unknown ones are null.
std::string profile_json(const training::StepProfile& profile);

} // namespace troupe::app
