/// The files of assets/ as one page, assembled at build time (assemble.cmake).
#pragma once

#include <string_view>

namespace troupe::metrics {

extern const std::string_view page_text;

} // namespace troupe::metrics
