#include "metrics/report/detail/record_reader.hpp"

#include "core/json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace troupe::metrics {

namespace {

/// Receives the events of nlohmann::json::sax_parse.
class ObjectReader {
public:
  ObjectReader(const Place& record, std::string_view key) : record_{record}, required_{key} {
    open_.reserve(4); // records are rarely nested deeper
  }

  bool has_required() const { return has_required_; }

  bool null() { return put_nothing(); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(std::int64_t value) { return put(value); }
  bool number_unsigned(std::uint64_t value) { return put(value); }
  bool number_float(double value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(const nlohmann::json::binary_t&) { return put_nothing(); }
  bool start_object(std::size_t) { return open({.place = target()}); }
  bool start_array(std::size_t) { return open({.place = target(), .is_list = true}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& name);
  static bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

private:
  struct Container {
    Place place;
    bool is_list = false;
    std::size_t next = 0; ///< the next item, or the field that is expected next
  };

  /// The place of the next value.
  Place target();
  bool put(JsonScalar value) {
    target().put(value);
    return true;
  }
  bool put_nothing() {
    target();
    return true;
  }
  bool open(const Container& container) {
    open_.push_back(container);
    return open_.size() <= max_json_depth;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const Place record_;
  const std::string_view required_;
  bool has_required_ = false;
  Place member_;                ///< of the last key
  std::vector<Container> open_; ///< from the outermost to the innermost
};

Place ObjectReader::target() {
  if (open_.empty())
    return record_;
  auto& inside = open_.back();
  return inside.is_list ? inside.place.item(inside.next++) : member_;
}

bool ObjectReader::key(const std::string& name) {
  auto& inside = open_.back();
  member_ = inside.place.member(name, inside.next);
  has_required_ |= open_.size() == 1 && name == required_;
  return true;
}

} // namespace

bool read_object(std::string_view json, const Place& record, std::string_view key) {
  ObjectReader reader{record, key};
  return nlohmann::json::sax_parse(json, &reader) && reader.has_required();
}

Place member_of(CollectiveUses& uses, std::string_view key, std::size_t& /*next*/) {
  const std::string_view now = key == "buddy" ? "shard_replica" : key; // its name before 0.2
  const auto kind = std::ranges::find(collective_kind_names, now) - collective_kind_names.begin();
  return kind < std::ssize(uses) ? Place::of(uses[static_cast<std::size_t>(kind)]) : Place{};
}

Place member_of(MemoryUse& memory, std::string_view key, std::size_t& /*next*/) {
  for (std::size_t i = 0; i < memory_kinds; ++i)
    if (to_string(static_cast<MemoryKind>(i)) == key)
      return Place::of(memory.peak[i]);
  return {};
}

} // namespace troupe::metrics
