/// Language models that go through a text piece by piece: keys and values of earlier tokens are
/// kept, so that each token is computed once (Pope et al., "Efficiently Scaling Transformer
/// Inference", 2022, section 2).
#pragma once

#include "core/error.hpp"
#include "core/graph/graph.hpp"

#include <cstdint>
#include <optional>

namespace troupe::nn {

struct CacheOptions {
  std::int64_t places = 1; ///< tokens that a sequence may have; at least those of the graph
  /// Whether it gives the logits of all its rows, "logits" (N, vocabulary) f32. Without them it
  /// fills caches, and computes nothing else.
  bool logits = true;
};

/// What such graphs call the place of their first tokens in all sequences: an input beside the
/// tokens, one i32.
inline constexpr const char* first_place = "first";

/// From a model's forward graph for (B, T) tokens, the one that goes on with B sequences by T
/// tokens each: causal_attention becomes cached_attention, whose keys and values are statistics
/// that every graph for as many places lays out alike; there is no target and no loss. Parameters
/// stay as they are, but all is one unit, since nothing of it is exchanged: the head reads a tied
/// table where it lies. After autocast, before fuse. Errors: invalid_input for a graph without the
/// head of a language model.
Result<Graph> cache_attention(const Graph& forward, const CacheOptions& options);

/// As many places as the graph has positions for; none: it has no table of them.
std::optional<std::int64_t> most_places(const Graph& forward);

} // namespace troupe::nn
