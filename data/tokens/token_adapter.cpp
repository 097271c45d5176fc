#include "token_adapter.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::data {

namespace {

std::vector<Field> fields_of_windows(std::int64_t length) {
  return {{.name = "tokens", .dtype = DType::i32, .shape = {length}},
          {.name = "targets", .dtype = DType::i32, .shape = {length}}};
}

} // namespace

TokenAdapter::TokenAdapter(TokenDatasetPtr windows)
    : Adapter{fields_of_windows(windows->windows().length)}, windows_{std::move(windows)} {}

Status TokenAdapter::fill(std::span<const std::int64_t> samples, std::int64_t, Fields to) const {
  const auto length = static_cast<std::size_t>(windows_->windows().length);
  const auto bytes = length * sizeof(TokenId);
  std::vector<TokenId> window(length + 1);
  const std::vector<TokenId> zeros(length), padding(length, -1);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool is_sample = samples[i] >= 0;
    if (is_sample)
      TROUPE_TRY(windows_->read(samples[i], window));
    std::memcpy(to[0].data() + i * bytes, is_sample ? window.data() : zeros.data(), bytes);
    std::memcpy(to[1].data() + i * bytes, is_sample ? window.data() + 1 : padding.data(), bytes);
  }
  return {};
}

} // namespace troupe::data
