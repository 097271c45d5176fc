#include "importers/detail/tables.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

ForeignRows deepspeed_rows() {
  ForeignRows rows;
  for (auto* part : {deepspeed_batch_rows, deepspeed_optimizer_rows, deepspeed_scheduler_rows,
                     deepspeed_precision_rows, deepspeed_zero_rows, deepspeed_offload_rows,
                     deepspeed_communication_rows, deepspeed_watching_rows, deepspeed_method_rows})
    std::ranges::move(part(), std::back_inserter(rows));
  return rows;
}

} // namespace troupe
