/// Numbers as people read them, the same in console and report. A value that is not finite stays
/// "nan" or "inf": it is worth seeing.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::metrics {

std::string readable_loss(double loss);         ///< "1.2345", "0.00123"
std::string readable_perplexity(double value);  ///< "6.21", "12,480"
std::string readable_percent(double ratio);     ///< "45.2%"
std::string readable_rate(double per_second);   ///< "870", "12.5", "12,480"
std::string readable_count(std::int64_t count); ///< "1,234,567"
std::string readable_bytes(double bytes);       ///< "1.5 GiB"
std::string readable_seconds(double seconds);   ///< "12.3 ms", "4.2 s", "12 min 30 s", "1 h 05 min"
std::string readable_clock(double seconds);     ///< "0:45", "12:34", "1:02:03"; "-:--" unknown
std::string capitalized(std::string text);      ///< "Images"
std::string readable_number(double value);      ///< few digits, for axes: "0.001", "12", "1.5k"

} // namespace troupe::metrics
