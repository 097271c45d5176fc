#include "core/checkpoint/detail/safetensors_header.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_dimensions = 64;
/// A pair of strings takes twenty times the memory of the shortest JSON for it.
constexpr std::size_t max_metadata = 10'000;
constexpr std::array<std::string_view, 3> members = {"dtype", "shape", "data_offsets"};
enum Member : std::size_t { dtype, shape, offsets };

/// Creates entries while the JSON is read. Rejects an object that has a key twice, because readers
/// disagree on its meaning.
class HeaderReader : public nlohmann::json_sax<Json> {
public:
  Result<SafetensorsHeader> result() && {
    if (!status_)
      return failure(status_.error());
    return std::move(header_);
  }

  bool null() override { return refuse_value(); }
  bool boolean(bool) override { return refuse_value(); }
  bool number_float(number_float_t, const string_t&) override { return refuse_value(); }
  bool number_integer(number_integer_t) override { return refuse_value(); } // negative
  bool binary(binary_t&) override { return refuse_value(); }
  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != Level::list || value > INT64_MAX)
      return refuse_value();
    numbers_.push_back(value);
    return numbers_.size() <= max_dimensions ||
           refuse(fmt::format("the header has a list of more than {} numbers", max_dimensions));
  }
  bool string(string_t& text) override;
  bool key(string_t& name) override;
  bool start_object(std::size_t) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return refuse(fmt::format("the header is not JSON: error at byte {}", position));
  }

private:
  enum class Level : std::uint8_t { outside, top, metadata, entry, list };

  bool refuse(std::string what) {
    status_ = fail(Errc::corrupt, "{}", what);
    return false;
  }
  bool refuse_entry(std::string_view what) {
    return refuse(fmt::format("tensor '{}': {}", echoed(name_), what));
  }
  bool refuse_twice(std::string_view key) {
    return refuse(fmt::format("the header has the key '{}' twice", echoed(key)));
  }
  bool refuse_value();
  bool take_pair(std::string& text);
  SafetensorsEntry& entry() { return header_.entries.back(); }

  SafetensorsHeader header_;
  Level level_ = Level::outside;
  std::string name_; ///< of the tensor, or safetensors_metadata_key
  std::string pair_; ///< the key of the metadata
  Member member_ = dtype;
  std::array<bool, members.size()> seen_ = {};
  std::vector<std::uint64_t> numbers_; ///< of the open list
  bool has_metadata_ = false;
  Status status_;
};

/// Reports a value that is not valid at its position.
bool HeaderReader::refuse_value() {
  switch (level_) {
  case Level::outside:
    return refuse("the header is not a JSON object");
  case Level::top:
    return name_ == safetensors_metadata_key
               ? refuse("__metadata__ is not an object")
               : refuse_entry("its entry is not an object of dtype, shape and data_offsets");
  case Level::metadata:
    return refuse(fmt::format("__metadata__: '{}' is not a string", echoed(pair_)));
  case Level::entry:
    return refuse_entry("dtype is not a string, shape not an array or data_offsets not a pair");
  default:
    return refuse_entry("a size or offset is not a whole number, at least 0");
  }
}

bool HeaderReader::string(string_t& text) {
  if (level_ == Level::metadata)
    return take_pair(text);
  if (level_ != Level::entry || member_ != dtype)
    return refuse_value();
  entry().dtype = std::move(text);
  return true;
}

bool HeaderReader::take_pair(std::string& text) {
  if (header_.metadata.size() == max_metadata)
    return refuse(fmt::format("__metadata__ has more than {} keys", max_metadata));
  return header_.metadata.try_emplace(pair_, std::move(text)).second || refuse_twice(pair_);
}

bool HeaderReader::key(string_t& name) {
  if (level_ == Level::metadata) {
    pair_ = std::move(name);
    return true;
  }
  if (level_ == Level::top) {
    name_ = std::move(name);
    return name_ != safetensors_metadata_key || !std::exchange(has_metadata_, true) ||
           refuse_twice(name_);
  }
  const auto* const found = std::ranges::find(members, name);
  if (found == members.end())
    return refuse_entry("its entry is not an object of dtype, shape and data_offsets");
  member_ = static_cast<Member>(found - members.begin());
  return !std::exchange(seen_[member_], true) || refuse_twice(name);
}

bool HeaderReader::start_object(std::size_t) {
  if (level_ == Level::outside) {
    level_ = Level::top;
    return true;
  }
  if (level_ != Level::top)
    return level_ == Level::metadata ? refuse_value() : refuse("the header is nested too deeply");
  if (name_ == safetensors_metadata_key) {
    level_ = Level::metadata;
    return true;
  }
  level_ = Level::entry;
  seen_ = {};
  header_.entries.emplace_back().name = name_;
  return true;
}

bool HeaderReader::end_object() {
  const bool complete = level_ != Level::entry || std::ranges::count(seen_, true) == 3;
  level_ = level_ == Level::top ? Level::outside : Level::top;
  return complete || refuse_entry("its entry is not an object of dtype, shape and data_offsets");
}

bool HeaderReader::start_array(std::size_t) {
  if (level_ == Level::list)
    return refuse("the header is nested too deeply");
  if (level_ != Level::entry || member_ == dtype)
    return refuse_value();
  level_ = Level::list;
  numbers_.clear();
  return true;
}

bool HeaderReader::end_array() {
  level_ = Level::entry;
  if (member_ == shape) {
    entry().shape.dims.assign(numbers_.begin(), numbers_.end());
    return true;
  }
  if (numbers_.size() != 2)
    return refuse_value();
  entry().begin = numbers_[0];
  entry().end = numbers_[1];
  return true;
}

Status check_names_differ(const std::vector<SafetensorsEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const auto& entry : entries)
    names.push_back(entry.name);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return fail(Errc::corrupt, "the header has the key '{}' twice", echoed(*twice));
  return {};
}

} // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text) {
  HeaderReader reader;
  Json::sax_parse(text, &reader); // ignores the return value: the reader has the error
  TROUPE_TRY(auto header, std::move(reader).result());
  TROUPE_TRY(check_names_differ(header.entries));
  return header;
}

} // namespace troupe
