/// The groups of rows of the two tables, one file each.
#pragma once

#include "importers/rows.hpp"

namespace troupe {

ForeignRows accelerate_job_rows();       ///< the job and its precision
ForeignRows accelerate_machine_rows();   ///< processes, machines, addresses
ForeignRows accelerate_fsdp_rows();      ///< fsdp_config, parallelism_config
ForeignRows accelerate_deepspeed_rows(); ///< deepspeed_config
ForeignRows accelerate_other_rows();     ///< features that troupe does not have

ForeignRows deepspeed_batch_rows();
ForeignRows deepspeed_optimizer_rows();
ForeignRows deepspeed_scheduler_rows();
ForeignRows deepspeed_precision_rows();
ForeignRows deepspeed_zero_rows();
ForeignRows deepspeed_offload_rows();
ForeignRows deepspeed_communication_rows();
ForeignRows deepspeed_watching_rows(); ///< logs, profilers, checkpoints
ForeignRows deepspeed_method_rows();   ///< training methods that troupe does not have

} // namespace troupe
