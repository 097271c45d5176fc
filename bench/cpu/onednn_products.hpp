/// Matrix products of oneDNN with nothing else in their way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::bench {

/// `count` products of (rows, inner) and (inner, columns) at once.
struct Product {
  std::int64_t count = 1, rows = 0, inner = 0, columns = 0;

  double operations() const {
    return 2.0 * static_cast<double>(count * rows) * static_cast<double>(inner * columns);
  }
};

/// Parses [COUNTx]ROWSxINNERxCOLUMNS; returns nothing for any other text.
std::optional<Product> parse_product(const std::string& text);

/// Returns the median time of the product in seconds, on the calling thread's team. Each operand
/// has the library's preferred layout or row-major layout, whichever is faster; converting to it is
/// not counted. `seconds`: time to spend on each layout.
double seconds_of_product(const Product& product, bool bf16, double seconds);

/// "2.6.3"
std::string onednn_version();

} // namespace troupe::bench
