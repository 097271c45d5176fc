#include "metrics/http/detail/page_access.hpp"

#include "core/escape.hpp"
#include "metrics/http/detail/basic_password.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include <arpa/inet.h>
#include <unistd.h>

namespace troupe::metrics {

namespace {

std::string lower_case(std::string_view text) {
  std::string lower{text};
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

/// What a Host header names, without the port.
std::string named_host(std::string_view header) {
  if (header.starts_with('['))
    return std::string{header.substr(1, header.find(']') - 1)};
  return lower_case(header.substr(0, header.find(':')));
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

/// With its domain and without.
bool is_own_name(const std::string& name) {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0)
    return false;
  const auto own = lower_case(text.data());
  return name == own || name == own.substr(0, own.find('.'));
}

/// A page of somebody else's, whose name has come to mean 127.0.0.1 meanwhile, would be allowed to
/// read ours: its browser sends that name.
bool names_this_host(std::string_view header) {
  const auto name = named_host(header);
  return is_address(name) || name == "localhost" || is_own_name(name);
}

HttpAnswer forbidden(std::string why) {
  return {.status = 403, .body = std::move(why) + "\n"};
}

} // namespace

std::optional<HttpAnswer> PageAccess::refusal(const HttpQuestion& question) const {
  if (question.local && !names_this_host(question.host))
    return forbidden(fmt::format("\"{}\" is not this host: open the page by its address, as "
                                 "http://127.0.0.1:PORT/",
                                 echoed(question.host)));
  if (!question.local && !password)
    return forbidden("other hosts see the page with a password only: set metrics.password_file");
  if (!question.local && !https)
    return forbidden("other hosts see the page over TLS only: set cluster.tls, certificate, key "
                     "and ca");
  if (!question.local && !question.secure)
    return forbidden("other hosts see the page over TLS only: open it as https:// (cluster.tls "
                     "is set)");
  if (password && !has_password(question.authorization, *password))
    return HttpAnswer{
        .status = 401,
        .body = "the page asks for the password of metrics.password_file, with any "
                "user name\n",
        .headers = {{"WWW-Authenticate", R"(Basic realm="troupe", charset="UTF-8")"}}};
  return std::nullopt;
}

} // namespace troupe::metrics
