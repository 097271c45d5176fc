#include "importers/detail/tables.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {

ForeignRows accelerate_rows() {
  ForeignRows rows;
  for (auto* part : {accelerate_job_rows, accelerate_machine_rows, accelerate_fsdp_rows,
                     accelerate_deepspeed_rows, accelerate_other_rows})
    std::ranges::move(part(), std::back_inserter(rows));
  return rows;
}

} // namespace troupe
