/// Reads records from JSON, field by field (metrics/records/field.hpp). The parser puts each value
/// where it belongs, and builds no tree: a resumed run may have millions of lines.
#pragma once

#include "core/config/strategies.hpp"
#include "core/device/device.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/step.hpp"
#include "metrics/time_stamp.hpp"

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::metrics {

/// A value that is not an object, a list or null.
using JsonScalar = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

class Place;

/// The functions with which values of a type take their parts from the parser.
struct PlaceType {
  void (*put)(void* value, const JsonScalar& scalar);
  Place (*member)(void* value, std::string_view key, std::size_t& next);
  Place (*item)(void* value, std::size_t index);
};

/// Where the parser puts a value: a member of a record, an item of a list, or nowhere. Values of
/// another type than the place's are ignored.
class Place {
public:
  Place() = default;
  template <class Value>
  static Place of(Value& value);

  void put(const JsonScalar& scalar) const {
    if (type_)
      type_->put(value_, scalar);
  }
  /// Returns the place of an object's member. `next` is the field that is expected next, where the
  /// search for the key starts.
  Place member(std::string_view key, std::size_t& next) const {
    return type_ ? type_->member(value_, key, next) : Place{};
  }
  /// Returns the place of a list's next item.
  Place item(std::size_t index) const { return type_ ? type_->item(value_, index) : Place{}; }

private:
  Place(void* value, const PlaceType* type) : value_{value}, type_{type} {}

  void* value_ = nullptr;
  const PlaceType* type_ = nullptr;
};

// Values that have their own form, as to_value() writes it (record_json.hpp).
Place member_of(CollectiveUses& uses, std::string_view key, std::size_t& next);
Place member_of(MemoryUse& memory, std::string_view key, std::size_t& next);

/// A value before it is read. A number that is written as null if it is not finite is nan in a
/// record.
template <class Value>
Value unknown_value() {
  Value value{};
  if constexpr (HasFields<Value>)
    for_each_field<Value>([&value]<class Member>(const Field<Member>& field) {
      if constexpr (Field<Member>::is_stored) {
        auto& member = value.*field.member;
        member = {};
        if constexpr (std::same_as<std::decay_t<decltype(member)>, double>)
          if (field.traits.if_empty == IfEmpty::write)
            member = std::numeric_limits<double>::quiet_NaN();
      }
    });
  return value;
}

template <class Value>
void put(Value& value, const std::string& text) {
  if constexpr (std::same_as<Value, std::string>)
    value = text;
  else if constexpr (std::same_as<Value, std::chrono::system_clock::time_point>)
    value = parse_utc(text).value_or(value);
  else if constexpr (std::same_as<Value, StrategyKind>)
    value = choice_named<StrategyKind>(text).value_or(value);
}

template <class Value>
void put(Value& value, bool flag) {
  if constexpr (std::same_as<Value, bool>)
    value = flag;
}

/// A double takes any number; an integer, only whole ones.
template <class Value, class Number>
void put(Value& value, Number number) {
  if constexpr (std::same_as<Value, double> || std::same_as<Value, std::optional<double>>)
    value = static_cast<double>(number);
  else if constexpr (std::integral<Number> && std::same_as<Value, std::optional<std::int64_t>>)
    value = static_cast<std::int64_t>(number);
  else if constexpr (std::integral<Number> && std::integral<Value> && !std::same_as<Value, bool>)
    value = static_cast<Value>(number);
}

template <class Record>
struct FieldPlace {
  std::string_view name;
  Place (*of)(Record& record);
};

template <class Record, std::size_t... I>
constexpr auto list_places(std::index_sequence<I...>) {
  return std::array{FieldPlace<Record>{std::get<I>(fields_of<Record>).name, [](Record& record) {
                                         constexpr auto field = std::get<I>(fields_of<Record>);
                                         if constexpr (field.is_stored)
                                           return Place::of(record.*field.member);
                                         else
                                           return Place{};
                                       }}...};
}

template <class Record>
inline constexpr auto places_of = list_places<Record>(
    std::make_index_sequence<std::tuple_size_v<std::decay_t<decltype(fields_of<Record>)>>>{});

template <class Value>
Place member_of(Value& value, std::string_view key, std::size_t& next) {
  if constexpr (HasFields<Value>) {
    const auto& places = places_of<Value>;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (const auto at = (next + i) % places.size(); places[at].name == key) {
        next = at + 1;
        return places[at].of(value);
      }
  } else if constexpr (requires {
                         requires HasFields<typename Value::value_type>;
                         value.reset();
                       }) {
    return member_of(value ? *value : value.emplace(unknown_value<typename Value::value_type>()),
                     key, next);
  }
  return {};
}

template <class Value>
Place item_of(Value& value, std::size_t index) {
  if constexpr (is_written_as_list<Value>)
    if (index < places_of<Value>.size())
      return places_of<Value>[index].of(value);
  return {};
}

template <class Item>
Place item_of(std::vector<Item>& items, std::size_t index) {
  if (index == 0)
    items.clear(); // a key that has two names may come twice
  return Place::of(items.emplace_back(unknown_value<Item>()));
}

template <class Value>
inline constexpr PlaceType place_type = {
    .put =
        [](void* value, const JsonScalar& scalar) {
          std::visit([value](const auto& given) { put(*static_cast<Value*>(value), given); },
                     scalar);
        },
    .member = [](void* value, std::string_view key,
                 std::size_t& next) { return member_of(*static_cast<Value*>(value), key, next); },
    .item = [](void* value,
               std::size_t index) { return item_of(*static_cast<Value*>(value), index); }};

template <class Value>
Place Place::of(Value& value) {
  return {&value, &place_type<Value>};
}

/// Reads an object. Returns false if the text is not JSON, is nested deeper than max_json_depth
/// (core/json.hpp), or is not an object with this key.
bool read_object(std::string_view json, const Place& record, std::string_view key);

/// Ignores unknown keys. Fields that are missing or of another type are unknown.
template <HasFields Record>
std::optional<Record> read_record(std::string_view json, std::string_view key) {
  auto record = unknown_value<Record>();
  return read_object(json, Place::of(record), key) ? std::optional{std::move(record)}
                                                   : std::nullopt;
}

} // namespace troupe::metrics
