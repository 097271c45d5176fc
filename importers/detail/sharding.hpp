/// Translates the sharding strategy of accelerate's FSDP.
#pragma once

#include "importers/rows.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// Returns FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or HYBRID_SHARD_ZERO2 for a value,
/// which may be a number (1 is FULL_SHARD); empty if it is not one.
std::string sharding_word(const ForeignEntry& entry);
ForeignSettings sharding_settings(const ForeignContext& context);
/// Whether parameters are divided and so have to be gathered.
bool divides_parameters(const ForeignContext& context);
/// FSDP2 has true and false where FSDP1 names a strategy.
bool is_fsdp2(const ForeignContext& context);

} // namespace troupe
