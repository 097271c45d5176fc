// Training methods that troupe does not have.
#include "importers/detail/tables.hpp"

#include <initializer_list>

namespace troupe {

namespace of_deepspeed_methods {
namespace {

void add(ForeignRows& rows, Fate fate, std::string_view says,
         std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    rows.push_back({.key = key, .default_value = fate, .says = says});
}

void add_data(ForeignRows& rows) {
  add(rows, Fate::refused, "each sample is used once per epoch: data",
      {"curriculum_learning.*", "data_efficiency.*"});
  add(rows, Fate::refused, "troupe trains all layers in every step", {"progressive_layer_drop.*"});
}

void add_models(ForeignRows& rows) {
  add(rows, Fate::refused, "troupe has no sparse attention", {"sparse_attention.*"});
  add(rows, Fate::refused, "troupe neither quantizes nor prunes; precision.mode sets the types",
      {"compression_training.*", "quantize_training.*", "weight_quantization.*", "msamp.*",
       "fp8.*"});
  add(rows, Fate::left_out, "it is for quantize_training", {"eigenvalue.*"});
}

void add_parallelism(ForeignRows& rows) {
  add(rows, Fate::refused, "troupe shards data and state, not layers: zero_optimization.stage 3",
      {"tensor_parallel.*", "pipeline.*", "expert_parallel.*", "hybrid_engine.*"});
  rows.push_back({.key = "sequence_parallel_size",
                  .default_value = Fate::refused,
                  .says = "troupe shards data and state, not sequences; leave it at 1",
                  .neutral = "1"});
  add(rows, Fate::left_out, "all workers share the data: devices.count x cluster.min_nodes",
      {"data_parallel_size", "use_data_before_expert_parallelism"});
  add(rows, Fate::refused, "the number of workers and the batch size do not change during a run",
      {"elasticity.*"});
}

} // namespace
} // namespace of_deepspeed_methods

ForeignRows deepspeed_method_rows() {
  using namespace of_deepspeed_methods;
  ForeignRows rows;
  add_data(rows);
  add_models(rows);
  add_parallelism(rows);
  add(rows, Fate::left_out, "the graph is always compiled: fused, planned and lowered",
      {"compile.*", "graph_harvesting", "vocabulary_size"});
  add(rows, Fate::left_out, "`troupe plan` and `troupe compare` help to choose a strategy",
      {"autotuning.*"});
  return rows;
}

} // namespace troupe
