/// Windows of tokens as a language model takes them.
#pragma once

#include "data/adapter.hpp"
#include "data/tokens/token_dataset.hpp"

#include <optional>

namespace troupe::data {

/// Fields, of windows of T tokens: tokens i32 (T), whose padding is 0; and targets i32 (T), the
/// token behind each, whose padding is -1. With a seed of dropout also dropout_keys
/// (core/device/dropout_math.hpp), drawn anew for every sample and epoch.
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
