#include "actors/membership/failure_detector.hpp"

#include "core/units.hpp"

namespace troupe::actors {

FailureDetector::FailureDetector(caf::scheduled_actor* self, std::chrono::milliseconds detection)
    : self_{self}, detection_{detection} {
  // This comes before the down_msg of any actor on the node.
  self_->set_node_down_handler([this](const caf::node_down_msg& down) {
    if (down.reason == caf::sec::connection_timeout)
      silent_.insert(down.node);
  });
}

/// A node that was silent may have connected again.
void FailureDetector::watch_node(const caf::node_id& node) {
  silent_.erase(node);
  if (node != self_->node())
    self_->monitor(node);
}

std::string FailureDetector::why(const caf::node_id& node, const caf::error& reason) const {
  if (reason != caf::exit_reason::remote_link_unreachable)
    return caf::to_string(reason);
  return silent_.contains(node) ? "it has been silent for " + format_duration(detection_)
                                : "its connection was closed";
}

} // namespace troupe::actors
