/// The page of a run, and that of a comparison: one file that asks for no other, with all that
/// draws it.
#pragma once

#include <string>
#include <string_view>

namespace troupe::metrics {

/// The page that follows a run: it asks for /events.
std::string_view live_page();
/// A standing page: the document (JSON, docs/files.md) is in it.
std::string standalone_page(std::string_view document);

} // namespace troupe::metrics
