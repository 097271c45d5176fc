/// Incremental inference of language models: keys and values of earlier tokens are cached, so that
/// each token is computed once (Pope et al., "Efficiently Scaling Transformer Inference", 2022,
/// section 2).
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>
#include <optional>

namespace troupe::nn {

struct CacheOptions {
  std::int64_t places = 1; ///< maximum tokens of a sequence; at least those of the graph
  /// Whether the graph outputs the logits of all its rows, "logits" (N, vocabulary) f32. If false,
  /// it only fills caches.
  bool logits = true;
};

/// Name of an input of these graphs beside the tokens: the position of their first tokens in all
/// sequences, one i32.
inline constexpr const char* first_place = "first";

/// Converts a model's forward graph for (B, T) tokens to one that continues B sequences by T tokens
/// each. causal_attention becomes cached_attention. Its keys and values are statistics, which have
/// the same layout in all graphs with the same number of places. The target and the loss are
/// removed. Parameters are unchanged, but the graph is a single unit, because nothing is
/// communicated; the head reads a tied table directly. Call it after autocast and before fuse.
/// Errors: invalid_input for a graph without the head of a language model.
Result<Graph> cache_attention(const Graph& forward, const CacheOptions& options);

/// Returns the number of positions in the graph's table; nothing if it has none.
std::optional<std::int64_t> most_places(const Graph& forward);

} // namespace troupe::nn
