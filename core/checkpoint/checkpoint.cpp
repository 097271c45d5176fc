#include "core/checkpoint/checkpoint.hpp"

#include "core/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

constexpr std::string_view optimizer_prefix = "optimizer.";

} // namespace

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &CheckpointTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

std::string optimizer_tensor_name(std::string_view state, std::string_view name) {
  return fmt::format("{}{}.{}", optimizer_prefix, state, name);
}

bool is_optimizer_tensor(std::string_view name) {
  return name.starts_with(optimizer_prefix);
}

std::string parameters_sha256(const std::map<std::string, std::span<const float>>& parameters) {
  Sha256 sha;
  for (const auto& [name, values] : parameters)
    sha.update(std::as_bytes(values));
  return sha.hex_digest();
}

} // namespace troupe
