#include "metrics/page/page.hpp"

#include "metrics/page/detail/page_text.hpp"

namespace troupe::metrics {

namespace {

/// The element that contains the document; empty in the live page.
constexpr std::string_view place_of_document = R"(<script type="application/json" id="document">)";

/// Escapes JSON for a script element, so that it cannot end the element: replaces each "<", which
/// only occurs in strings.
void append_inert(std::string& page, std::string_view json) {
  for (const char c : json)
    if (c == '<')
      page += "\\u003c";
    else
      page += c;
}

} // namespace

std::string_view live_page() {
  return page_text;
}

std::string standalone_page(std::string_view document) {
  const auto place = page_text.find(place_of_document) + place_of_document.size();
  std::string page;
  page.reserve(page_text.size() + document.size() + document.size() / 16);
  page.append(page_text.substr(0, place));
  append_inert(page, document);
  page.append(page_text.substr(place));
  return page;
}

} // namespace troupe::metrics
