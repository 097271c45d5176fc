/// An HTTP request and its response, reduced to the parts that the server uses.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::metrics {

struct HttpQuestion {
  std::string path;          ///< without the query string
  std::string host;          ///< the Host header: "localhost:9401"
  std::string authorization; ///< "Basic ..."
  std::string from = {};     ///< the client's address; for IPv6 its /64 network
  bool local = false;        ///< from a loopback address
  bool secure = false;       ///< over TLS
};

struct HttpAnswer {
  unsigned status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string_view, std::string_view>> headers = {}; ///< further ones
  bool followed = false; ///< a stream of events follows
};

} // namespace troupe::metrics
