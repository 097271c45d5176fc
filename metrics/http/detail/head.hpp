/// The head of an answer, as HTTP has it.
#pragma once

#include "metrics/http/detail/answer.hpp"

#include <string>

namespace troupe::metrics {

std::string head_of(const HttpAnswer& answer);

} // namespace troupe::metrics
