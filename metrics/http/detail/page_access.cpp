#include "metrics/http/detail/page_access.hpp"

#include "core/base64.hpp"
#include "core/escape.hpp"
#include "core/sha256.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <cctype>

#include <arpa/inet.h>
#include <unistd.h>

namespace troupe::metrics {

namespace {

using namespace std::chrono_literals;

std::string lower_case(std::string_view text) {
  std::string lower{text};
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

/// The name in a Host header, without the port.
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

/// Accepts the name with and without the domain.
bool is_own_name(const std::string& name) {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0)
    return false;
  const auto own = lower_case(text.data());
  return name == own || name == own.substr(0, own.find('.'));
}

/// Prevents DNS rebinding: a foreign page whose name now resolves to 127.0.0.1 could otherwise read
/// ours. Its browser sends the foreign name.
bool names_this_host(std::string_view header) {
  const auto name = named_host(header);
  return is_address(name) || name == "localhost" || is_own_name(name);
}

HttpAnswer forbidden(std::string why) {
  return {.status = 403, .body = std::move(why) + "\n"};
}

std::string digest_of(std::string_view text) {
  Sha256 digest;
  digest.update(text);
  return digest.hex_digest();
}

/// Compares digests, whose length does not depend on the texts.
bool are_equal(std::string_view a, std::string_view b) {
  const auto of_a = digest_of(a), of_b = digest_of(b);
  return CRYPTO_memcmp(of_a.data(), of_b.data(), of_a.size()) == 0;
}

std::chrono::seconds wait_after(int wrong) {
  constexpr auto longest = 60s;
  const int doublings = wrong - Guesses::free;
  if (doublings < 0)
    return 0s;
  return doublings < 5 ? 2s * (1 << doublings) : longest;
}

} // namespace

bool has_password(std::string_view authorization, std::string_view password) {
  constexpr std::string_view scheme = "basic ";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (!std::ranges::equal(authorization.substr(0, scheme.size()), scheme, same))
    return false;
  const auto sent = from_base64(authorization.substr(scheme.size()));
  const auto end = sent ? sent->find(':') : std::string::npos;
  return end != std::string::npos && are_equal(std::string_view{*sent}.substr(end + 1), password);
}

std::optional<HttpAnswer> PageAccess::refusal(const HttpQuestion& question) const {
  if (question.local && !names_this_host(question.host))
    return forbidden(fmt::format(
        "\"{}\" is not this host: open the page by its address, such as http://127.0.0.1:PORT/",
        echoed(question.host)));
  if (!question.local && !password)
    return forbidden(
        "other hosts can see the page only with a password: set metrics.password_file");
  if (!question.local && !https)
    return forbidden(
        "other hosts can see the page only over TLS: set certificate, key and ca of cluster.tls");
  if (!question.local && !question.secure)
    return forbidden(
        "other hosts can see the page only over TLS: open it as https:// (cluster.tls is set)");
  if (password && !has_password(question.authorization, *password))
    return HttpAnswer{
        .status = 401,
        .body = "the page asks for the password of metrics.password_file, with any "
                "user name\n",
        .headers = {{"WWW-Authenticate", R"(Basic realm="troupe", charset="UTF-8")"}}};
  return std::nullopt;
}

std::chrono::seconds Guesses::wait(const std::string& address, Clock::time_point now) const {
  const auto found = addresses_.find(address);
  if (found == addresses_.end() || found->second.until <= now)
    return 0s;
  return std::chrono::ceil<std::chrono::seconds>(found->second.until - now);
}

void Guesses::note_wrong(const std::string& address, Clock::time_point now) {
  if (!addresses_.contains(address))
    make_room();
  auto& wrong = addresses_[address];
  wrong.until = now + wait_after(++wrong.count);
}

/// Forgets the address with the earliest end of its wait.
void Guesses::make_room() {
  if (addresses_.size() < most_addresses)
    return;
  addresses_.erase(std::ranges::min_element(addresses_, {},
                                            [](const auto& known) { return known.second.until; }));
}

} // namespace troupe::metrics
