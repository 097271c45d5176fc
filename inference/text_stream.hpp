/// Decodes tokens to text as they arrive.
#pragma once

#include "core/error.hpp"
#include "core/fail.hpp"
#include "data/tokenizer/characters.hpp"
#include "data/tokenizer/tokenizer.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::inference {

/// Receives the text in chunks of whole characters, except that the last may end inside one.
using TakeText = std::function<Status(std::string_view chunk)>;

class TextStream {
public:
  TextStream(data::TokenizerPtr tokenizer, TakeText take)
      : tokenizer_{std::move(tokenizer)}, take_{std::move(take)} {}

  Status add(data::TokenId id) {
    TROUPE_TRY(tokenizer_->decode({&id, 1}, held_));
    return hand_on(data::whole_characters(held_));
  }
  /// Also passes on the bytes of an incomplete last character.
  Status finish() { return hand_on(held_.size()); }

private:
  Status hand_on(std::size_t bytes) {
    if (bytes == 0)
      return {};
    TROUPE_TRY(take_(std::string_view{held_}.substr(0, bytes)));
    held_.erase(0, bytes);
    return {};
  }

  data::TokenizerPtr tokenizer_;
  TakeText take_;
  std::string held_;
};

} // namespace troupe::inference
