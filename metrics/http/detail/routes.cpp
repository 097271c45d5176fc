#include "metrics/http/detail/routes.hpp"

#include "metrics/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace troupe::metrics {

namespace {

constexpr std::array<std::string_view, 4> page_paths = {"/", "/run.json", "/events",
                                                        "/report.html"};
constexpr std::string_view html = "text/html; charset=utf-8";

/// Restricts the page to its own content, and forbids other sites to embed or read it.
void protect(HttpAnswer& answer) {
  answer.headers.insert(
      answer.headers.end(),
      {{"Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"Cross-Origin-Resource-Policy", "same-origin"},
       {"Referrer-Policy", "no-referrer"}});
}

} // namespace

HttpAnswer HttpRoutes::answer(const HttpQuestion& question) {
  const auto& path = question.path;
  if (path == "/metrics")
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = sources_.metrics()};
  if (path == "/sd")
    return {.content_type = "application/json", .body = sources_.targets()};
  if (path == "/healthz")
    return {.body = "ok\n"};
  if (path == "/readyz")
    return readiness();
  if (sources_.page.document && std::ranges::find(page_paths, path) != page_paths.end())
    return page_answer(question);
  return {.status = 404,
          .body = "not found; available are /metrics, /sd, /healthz, /readyz, and the page: /, "
                  "/run.json, /events, /report.html\n"};
}

HttpAnswer HttpRoutes::readiness() const {
  const auto [ready, why] = sources_.readiness();
  if (ready)
    return {.body = fmt::format("ready: {}\n", why)};
  return {.status = 503, .body = fmt::format("not ready: {}\n", why)};
}

/// Checks access to the page. Makes an address wait after wrong passwords.
std::optional<HttpAnswer> HttpRoutes::refusal(const HttpQuestion& question) {
  if (!access_.password || question.authorization.empty())
    return access_.refusal(question);
  const auto now = Guesses::Clock::now();
  if (const auto wait = guesses_.wait(question.from, now); wait.count() > 0)
    return HttpAnswer{
        .status = 429,
        .body = fmt::format("too many wrong passwords from this address; try again in {} s\n",
                            wait.count())};
  auto refused = access_.refusal(question);
  if (!refused)
    guesses_.note_right(question.from);
  else if (refused->status == 401)
    guesses_.note_wrong(question.from, now);
  return refused;
}

HttpAnswer HttpRoutes::page_answer(const HttpQuestion& question) {
  HttpAnswer answer;
  if (auto refused = refusal(question))
    answer = *std::move(refused);
  else if (question.path == "/")
    answer = {.content_type = html, .body = std::string{live_page()}};
  else if (question.path == "/run.json")
    answer = {.content_type = "application/json", .body = sources_.page.document()};
  else if (question.path == "/events")
    answer = {.content_type = "text/event-stream", .followed = true};
  else
    answer = {.content_type = html,
              .body = standalone_page(sources_.page.document()),
              .headers = {{"Content-Disposition", "attachment; filename=\"report.html\""}}};
  protect(answer);
  return answer;
}

} // namespace troupe::metrics
