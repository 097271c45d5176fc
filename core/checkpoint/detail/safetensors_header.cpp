#include "safetensors_header.hpp"

#include "../../fail.hpp"
#include "../../printable.hpp"

#include <string>
#include <unordered_set>
#include <vector>

namespace troupe {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_dimensions = 64;

/// Reads JSON through and finds what no header has, before values are made of it. Readers would not
/// agree on the meaning of a key that stands twice in one object.
class HeaderCheck : public nlohmann::json_sax<Json> {
public:
  const Status& status() const { return status_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return count_item(); }
  bool number_unsigned(number_unsigned_t) override { return count_item(); }
  bool number_float(number_float_t, const string_t&) override { return count_item(); }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return enter();
  }
  bool key(string_t& name) override {
    return keys_.back().insert(name).second ||
           refuse(fmt::format("the header has the key '{}' twice", echoed(name)));
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    items_ = 0;
    return enter();
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return refuse(fmt::format("the header is not JSON: wrong at its byte {}", position));
  }

private:
  bool refuse(std::string what) {
    status_ = fail(Errc::corrupt, "{}", what);
    return false;
  }
  /// A header has objects in an object, and lists in those.
  bool enter() { return ++depth_ <= 3 || refuse("the header is nested too deeply"); }
  bool count_item() {
    return ++items_ <= max_dimensions ||
           refuse(fmt::format("the header has a list of more than {} numbers", max_dimensions));
  }

  std::vector<std::unordered_set<std::string>> keys_; ///< of the objects that are open
  int depth_ = 0;
  std::size_t items_ = 0; ///< of the list that is open
  Status status_;
};

} // namespace

Result<Json> parse_safetensors_header(std::string_view text) {
  HeaderCheck check;
  if (!Json::sax_parse(text, &check))
    return failure(check.status().error());
  // The parser gets no callback: with one it would look through an object again for each of its
  // values.
  auto json = Json::parse(text, nullptr, false);
  if (!json.is_object())
    return fail(Errc::corrupt, "the header is not a JSON object");
  return json;
}

} // namespace troupe
