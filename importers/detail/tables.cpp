#include "importers/detail/tables.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

ForeignRows same_rows(Fate fate, std::string_view says, std::initializer_list<const char*> keys,
                      std::string_view neutral) {
  ForeignRows rows;
  for (const auto* key : keys)
    rows.push_back({.key = key, .fate = fate, .says = says, .neutral = neutral});
  return rows;
}

ForeignRows built_in(std::string_view says, std::initializer_list<const char*> keys) {
  return same_rows(Fate::built_in, says, keys);
}

ForeignRows left_out(std::string_view says, std::initializer_list<const char*> keys,
                     std::string_view neutral) {
  return same_rows(Fate::left_out, says, keys, neutral);
}

ForeignRows refused(std::string_view says, std::initializer_list<const char*> keys,
                    std::string_view neutral) {
  return same_rows(Fate::refused, says, keys, neutral);
}

ForeignRows below(std::string_view section, ForeignRows rows) {
  for (auto& row : rows)
    row.key.insert(0, section);
  return rows;
}

ForeignRows only_with(std::string_view when, ForeignRows rows) {
  for (auto& row : rows)
    row.when = when;
  return rows;
}

ForeignRows joined(std::initializer_list<ForeignRows> parts) {
  ForeignRows rows;
  for (const auto& part : parts)
    std::ranges::copy(part, std::back_inserter(rows));
  return rows;
}

ForeignRows accelerate_rows() {
  return joined({accelerate_job_rows(), accelerate_machine_rows(), accelerate_fsdp_rows(),
                 accelerate_deepspeed_rows(), accelerate_other_rows()});
}

ForeignRows deepspeed_rows() {
  return joined({deepspeed_batch_rows(), deepspeed_optimizer_rows(), deepspeed_scheduler_rows(),
                 deepspeed_precision_rows(), deepspeed_zero_rows(), deepspeed_offload_rows(),
                 deepspeed_communication_rows(), deepspeed_other_rows()});
}

} // namespace troupe
