#include "metrics/push/push_gateway.hpp"

#include "core/escape.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <memory>
#include <utility>

namespace troupe::metrics {

namespace {

constexpr long connect_limit = 2000; ///< milliseconds
constexpr std::size_t longest_answer = 1000;

/// Keeps letters, digits and RFC 3986's other unreserved characters; encodes the dots of "." and
/// "..", which would change the path.
std::string in_path(std::string_view text) {
  std::string escaped;
  const bool steps = text == "." || text == "..";
  for (const unsigned char c : text)
    if (std::isalnum(c) || c == '-' || c == '_' || c == '~' || (c == '.' && !steps))
      escaped += static_cast<char>(c);
    else
      escaped += fmt::format("%{:02X}", c);
  return escaped;
}

std::size_t keep_answer(const char* bytes, std::size_t size, std::size_t count, void* answer) {
  auto& text = *static_cast<std::string*>(answer);
  text.append(bytes, std::min(size * count, longest_answer - text.size()));
  return size * count;
}

/// Returns why it failed; empty on success.
std::string put(const PushOptions& options, const std::string& body) {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl{curl_easy_init(), curl_easy_cleanup};
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers{
      curl_slist_append(nullptr, "Content-Type: text/plain; version=0.0.4"), curl_slist_free_all};
  std::string answer;
  std::array<char, CURL_ERROR_SIZE> why{};
  const auto address = push_address(options);
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(curl.get(), option, value);
  };
  set(CURLOPT_URL, address.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_CUSTOMREQUEST, "PUT");
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_POSTFIELDS, body.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, connect_limit);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.time_limit.count()));
  set(CURLOPT_ERRORBUFFER, why.data());
  set(CURLOPT_WRITEFUNCTION, keep_answer);
  set(CURLOPT_WRITEDATA, &answer);
  if (const auto code = curl_easy_perform(curl.get()); code != CURLE_OK)
    return why[0] != '\0' ? why.data() : curl_easy_strerror(code);
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  return status / 100 == 2 ? "" : fmt::format("it answered {}: {}", status, echoed(answer));
}

} // namespace

std::string push_address(const PushOptions& options) {
  const std::string_view url = options.url;
  return fmt::format("{}/metrics/job/troupe/run/{}/instance/{}",
                     url.substr(0, url.find_last_not_of('/') + 1), in_path(options.run),
                     in_path(options.instance));
}

std::string without_password(std::string_view url) {
  const auto begin = url.find("://");
  const auto host = begin == std::string_view::npos ? 0 : begin + 3;
  const auto at = url.substr(host, url.find('/', host) - host).rfind('@');
  return at == std::string_view::npos
             ? std::string{url}
             : fmt::format("{}{}", url.substr(0, host), url.substr(host + at + 1));
}

PushGateway::PushGateway(PushOptions options, Text text, Warn warn)
    : options_{std::move(options)}, text_{std::move(text)}, warn_{std::move(warn)}, thread_{[this] {
        run();
      }} {}

PushGateway::~PushGateway() {
  {
    const std::lock_guard lock{mutex_};
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

/// Pushes whenever it is time, and a last time when the object is destroyed.
void PushGateway::run() {
  for (bool ended = false; !ended; push()) {
    std::unique_lock lock{mutex_};
    ended = changed_.wait_for(lock, options_.every, [this] { return ended_; });
  }
}

void PushGateway::push() {
  const auto why = put(options_, text_());
  if (!why.empty() && !std::exchange(failed_, true))
    warn_(fmt::format("cannot push metrics to {}: {}", echoed(without_password(options_.url)),
                      echoed(why)));
  failed_ = !why.empty();
}

} // namespace troupe::metrics
