#include "metrics/report/detail/record_json.hpp"

namespace troupe::metrics {

OrderedJson to_value(std::chrono::system_clock::time_point time) {
  return utc_milliseconds(time);
}

OrderedJson to_value(StrategyKind strategy) {
  return to_string(strategy);
}

OrderedJson bytes_by_kind(const std::array<std::size_t, memory_kinds>& bytes) {
  auto object = OrderedJson::object();
  for (std::size_t i = 0; i < memory_kinds; ++i)
    object[std::string(to_string(static_cast<MemoryKind>(i)))] = bytes[i];
  return object;
}

OrderedJson to_value(const MemoryUse& memory) {
  return bytes_by_kind(memory.peak);
}

OrderedJson to_value(const CollectiveUses& uses) {
  auto object = OrderedJson::object();
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (const auto& use = uses[i]; use != CollectiveUse{})
      object[std::string(collective_kind_names[i])] = to_value(use);
  return object;
}

} // namespace troupe::metrics
