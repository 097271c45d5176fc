#include "metrics/http/detail/head.hpp"

#include <sstream>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/write.hpp>

namespace troupe::metrics {

namespace {

boost::beast::string_view beast_view(std::string_view text) {
  return {text.data(), text.size()};
}

} // namespace

std::string head_of(const HttpAnswer& answer) {
  namespace http = boost::beast::http;
  http::response_header<> head;
  head.version(11);
  head.result(answer.status);
  head.set(http::field::content_type, beast_view(answer.content_type));
  if (!answer.followed)
    head.set(http::field::content_length, std::to_string(answer.body.size()));
  head.set(http::field::cache_control, "no-store");
  head.set(http::field::connection, "close");
  for (const auto& [name, value] : answer.headers)
    head.set(beast_view(name), beast_view(value));
  std::ostringstream text;
  text << head;
  return text.str();
}

} // namespace troupe::metrics
