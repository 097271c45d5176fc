/// Formats numbers for people, the same in console and report. A value that is not finite becomes
/// "nan" or "inf".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::metrics {

std::string format_loss(double loss);        ///< "1.2345", "0.00123"
std::string format_perplexity(double value); ///< "6.21", "12,480"
std::string format_percent(double ratio);    ///< "45.2%"
/// "45.2%". Above 1 returns "above 100%" and the possible reasons, without a number: no device
/// exceeds its peak.
std::string format_mfu(double ratio);
std::string format_rate(double per_second); ///< "870", "12.5", "12,480"
/// "118 GFLOP/s", "1.24 TFLOP/s"
std::string format_operations(double per_second);
/// "60 steps (0.15 epochs)"; without epochs if `steps_per_epoch` is unknown. Rounds down, so that
/// an unfinished epoch never looks complete.
std::string format_steps(std::int64_t steps, std::int64_t steps_per_epoch);
std::string counted(std::int64_t count, std::string_view noun); ///< "1 step", "1,234 steps"
std::string format_count(std::int64_t count);                   ///< "1,234,567"
std::string format_bytes(double bytes);                         ///< "1.5 GiB"
std::string format_seconds(double seconds); ///< "12.3 ms", "4.2 s", "12 min 30 s", "1 h 05 min"
std::string format_clock(double seconds);   ///< "0:45", "12:34", "1:02:03"; "-:--" if unknown

} // namespace troupe::metrics
