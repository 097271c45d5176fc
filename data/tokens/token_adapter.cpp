#include "data/tokens/token_adapter.hpp"

#include "core/device/dropout_math.hpp"
#include "core/fail.hpp"
#include "data/keys.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::data {

namespace {

std::vector<Field> fields_of_windows(std::int64_t length, bool drops) {
  std::vector<Field> fields = {{.name = "tokens", .dtype = DType::i32, .shape = {length}},
                               {.name = "targets", .dtype = DType::i32, .shape = {length}}};
  if (drops)
    fields.push_back({dropout_keys_name, DType::i32, {dropout_key_words}});
  return fields;
}

void write_dropout_keys(std::uint64_t key, std::span<const std::int64_t> samples, std::byte* to) {
  for (const auto sample : samples) {
    CounterRng rng{key, static_cast<std::uint64_t>(sample)};
    for (std::int64_t i = 0; i < dropout_key_words; ++i, to += sizeof(std::uint32_t)) {
      const auto word = rng.next();
      std::memcpy(to, &word, sizeof(word));
    }
  }
}

} // namespace

TokenAdapter::TokenAdapter(TokenDatasetPtr windows, std::optional<std::uint64_t> dropout_seed)
    : Adapter{fields_of_windows(windows->windows().length, dropout_seed.has_value())},
      windows_{std::move(windows)}, dropout_seed_{dropout_seed} {}

Status TokenAdapter::fill(std::span<const std::int64_t> samples, std::int64_t epoch,
                          Fields to) const {
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
  if (dropout_seed_)
    write_dropout_keys(epoch_key(*dropout_seed_, Draw::dropout, epoch), samples, to[2].data());
  return {};
}

} // namespace troupe::data
