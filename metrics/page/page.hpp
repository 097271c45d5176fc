/// The page of a run and of a comparison: one file with its scripts and styles, which loads no
/// other file.
#pragma once

#include <string>
#include <string_view>

namespace troupe::metrics {

/// The live page, which follows a run through /events.
std::string_view live_page();
/// A standalone page that contains the document (JSON, docs/files.md).
std::string standalone_page(std::string_view document);

} // namespace troupe::metrics
