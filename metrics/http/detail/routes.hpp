/// Maps requests to responses.
#pragma once

#include "metrics/http/detail/answer.hpp"
#include "metrics/http/detail/page_access.hpp"
#include "metrics/http/endpoint.hpp"

namespace troupe::metrics {

class HttpRoutes {
public:
  HttpRoutes(EndpointSources sources, PageAccess access)
      : sources_{std::move(sources)}, access_{std::move(access)} {}

  HttpAnswer answer(const HttpQuestion& question);
  const PageSources& page() const { return sources_.page; }

private:
  HttpAnswer readiness() const;
  HttpAnswer page_answer(const HttpQuestion& question);
  std::optional<HttpAnswer> refusal(const HttpQuestion& question);

  EndpointSources sources_;
  PageAccess access_;
  Guesses guesses_;
};

} // namespace troupe::metrics
