/// Converts windows of tokens to a language model's input.
#pragma once

#include "data/adapter.hpp"
#include "data/tokens/token_dataset.hpp"

#include <optional>

namespace troupe::data {

/// Fields of windows of T tokens: tokens i32 (T), padded with 0; and targets i32 (T), the token
/// after each, padded with -1. With a dropout seed also dropout_keys
/// (core/device/dropout_math.hpp), drawn for every sample and epoch.
class TokenAdapter final : public Adapter {
public:
  explicit TokenAdapter(TokenDatasetPtr windows,
                        std::optional<std::uint64_t> dropout_seed = std::nullopt);

  const Dataset& dataset() const override { return *windows_; }
  std::string_view sample_name() const override { return "sequences"; }
  Status fill(std::span<const std::int64_t> samples, std::int64_t epoch, Fields to) const override;

private:
  TokenDatasetPtr windows_;
  std::optional<std::uint64_t> dropout_seed_;
};

} // namespace troupe::data
