/// HTTP's Basic authentication (RFC 7617), of which the password alone counts.
#pragma once

#include <string_view>

namespace troupe::metrics {

/// Whether the header, "Basic BASE64", has this password behind some user's name. The time that it
/// takes does not tell how much of it was right.
bool has_password(std::string_view authorization, std::string_view password);

} // namespace troupe::metrics
