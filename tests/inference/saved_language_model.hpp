/// Language models that look trained: their values use all bits.
#pragma once

#include "core/checkpoint/state_source.hpp"
#include "core/config/config.hpp"
#include "inference/saved_model.hpp"
#include "nn/models/models.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <vector>

namespace troupe::testing {

/// `scale`: factor of matrices; an untrained model gives all tokens nearly the same probability.
inline inference::SavedModel saved_language_model(Config config, float scale = 1) {
  Checkpoint checkpoint;
  const auto graph =
      nn::build_model(config.model, {.input = nn::input_spec(config), .training = false});
  INFO((graph ? "" : graph.error().to_string()));
  REQUIRE(graph);
  auto values = nn::initial_values(*graph, 99);
  REQUIRE(values);
  for (auto& tensor : *values)
    for (auto& value : tensor.values)
      value *= tensor.shape.rank() == 2 ? scale : 1;
  const auto kept = std::make_shared<std::vector<nn::InitialTensor>>(*std::move(values));
  for (const auto& tensor : *kept)
    checkpoint.tensors.push_back({tensor.name, tensor.shape, tensor.values});
  checkpoint.storage = {kept, reinterpret_cast<const std::byte*>(kept->data())};
  return {"trained.safetensors", std::move(config), {}, state_in_memory(std::move(checkpoint))};
}

} // namespace troupe::testing
