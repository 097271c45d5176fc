/// A request and its answer, as far as they matter here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::metrics {

struct HttpQuestion {
  std::string path;          ///< without what follows "?"
  std::string host;          ///< as the client calls us: "localhost:9401"
  std::string authorization; ///< "Basic ..."
  std::string from = {};     ///< the client's address; for IPv6 its network of 64 bits
  bool local = false;        ///< from an address of loopback
  bool secure = false;       ///< over TLS
};

struct HttpAnswer {
  unsigned status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string_view, std::string_view>> headers = {}; ///< besides the usual
  bool followed = false; ///< events come behind it, without an end
};

} // namespace troupe::metrics
