#include "data/tokenizer/vocabulary.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

namespace troupe::data {

Status Vocabulary::check(std::int64_t id, std::string_view bytes) const {
  if (id < 0 || id >= most_ids)
    return fail(Errc::data, "token {} has the id {}, but ids are 0 to {}", echoed(bytes), id,
                most_ids - 1);
  if (const auto* const other = this->bytes(id))
    return fail(Errc::data, "tokens {} and {} both have the id {}", echoed(*other), echoed(bytes),
                id);
  return {};
}

Status Vocabulary::add_special(std::int64_t id, std::string bytes) {
  TROUPE_TRY(check(id, bytes));
  if (id >= size())
    tokens_.resize(static_cast<std::size_t>(id) + 1);
  tokens_[static_cast<std::size_t>(id)] = std::move(bytes);
  return {};
}

Status Vocabulary::add(std::int64_t id, std::string bytes) {
  if (const auto other = find(bytes))
    return fail(Errc::data, "token {} has two ids, {} and {}", echoed(bytes), *other, id);
  TROUPE_TRY(add_special(id, bytes));
  ids_.emplace(std::move(bytes), static_cast<TokenId>(id));
  return {};
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes) const {
  const auto found = ids_.find(bytes);
  return found == ids_.end() ? std::nullopt : std::optional{found->second};
}

Result<TokenId> Vocabulary::of_byte(unsigned char byte) const {
  const auto id = find(std::string(1, static_cast<char>(byte)));
  if (!id)
    return fail(Errc::data,
                "no token is the single byte 0x{:02x}, so some texts could not be encoded", byte);
  return *id;
}

std::vector<TokenId> Vocabulary::unused() const {
  std::vector<TokenId> ids;
  for (std::size_t id = 0; id < tokens_.size(); ++id)
    if (!tokens_[id])
      ids.push_back(static_cast<TokenId>(id));
  return ids;
}

const std::string* Vocabulary::bytes(std::int64_t id) const {
  if (id < 0 || id >= size())
    return nullptr;
  const auto& token = tokens_[static_cast<std::size_t>(id)];
  return token ? &*token : nullptr;
}

} // namespace troupe::data
