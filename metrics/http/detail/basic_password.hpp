/// HTTP Basic authentication (RFC 7617) by password; the user name is ignored.
#pragma once

#include <string_view>

namespace troupe::metrics {

/// Whether the header "Basic BASE64" contains this password, with any user name. Compares in
/// constant time, so that the duration does not reveal how much of the password was right.
bool has_password(std::string_view authorization, std::string_view password);

} // namespace troupe::metrics
