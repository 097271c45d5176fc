/// How accelerate's FSDP divides the state, in troupe's words.
#pragma once

#include "importers/rows.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or HYBRID_SHARD_ZERO2: what the file asks
/// for, by FSDP1's words or FSDP2's; FSDP's default where nothing says.
std::string fsdp_sharding(const ForeignContext& context);
/// The word of a value, which may be a number (1 is FULL_SHARD); empty: it is none.
std::string sharding_word(const ForeignEntry& entry);
ForeignSettings sharding_settings(const ForeignContext& context);
/// Whether parameters are divided, so that they are gathered.
bool divides_parameters(const ForeignContext& context);
/// FSDP2 says true and false where FSDP1 names a strategy.
bool is_fsdp2(const ForeignContext& context);

} // namespace troupe
