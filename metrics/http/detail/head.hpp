/// Formats the head of an HTTP response.
#pragma once

#include "metrics/http/detail/answer.hpp"

#include <string>

namespace troupe::metrics {

std::string head_of(const HttpAnswer& answer);

} // namespace troupe::metrics
