/// The files of assets/ as one, put together when this is built (assemble.cmake).
#pragma once

#include <string_view>

namespace troupe::metrics {

extern const std::string_view page_text;

} // namespace troupe::metrics
