/// Names as a message lists them.
#pragma once

#include <string>
#include <vector>

namespace troupe::data {

/// "cat, dog": the first 20, escaped, and the number of the others.
std::string listed(const std::vector<std::string>& names);

} // namespace troupe::data
