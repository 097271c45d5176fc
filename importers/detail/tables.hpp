/// The groups of rows of the tables, one file each, and notation for them.
#pragma once

#include "importers/rows.hpp"

#include <initializer_list>

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
ForeignRows deepspeed_other_rows(); ///< logs, profilers, checkpoints, unsupported methods

/// Derives the number of processes if a DeepSpeed file has all three numbers of its batch; nothing
/// else in the file states it.
ForeignWorld deepspeed_world(const ForeignDocument& document);

/// Return a row for each key; all have the same outcome.
ForeignRows same_rows(Fate fate, std::string_view says, std::initializer_list<const char*> keys,
                      std::string_view neutral = {});
ForeignRows built_in(std::string_view says, std::initializer_list<const char*> keys);
ForeignRows left_out(std::string_view says, std::initializer_list<const char*> keys,
                     std::string_view neutral = {});
ForeignRows refused(std::string_view says, std::initializer_list<const char*> keys,
                    std::string_view neutral = {});

/// Puts `section`, such as "optimizer.", before each key.
ForeignRows below(std::string_view section, ForeignRows rows);

/// Sets the condition of each row.
ForeignRows only_with(std::string_view when, ForeignRows rows);

ForeignRows joined(std::initializer_list<ForeignRows> parts);

} // namespace troupe
