#include "core/config/detail/keys_cluster.hpp"
#include "core/config/detail/rules.hpp"

namespace troupe {

namespace {

const ConfigRule address = {.format = ConfigFormat::endpoint};
const ConfigRule some_time = {.min = 0, .above_min = true};
const ConfigRule some_time_or_none = {.min = 0};
const ConfigRule certificate_name = {.format = ConfigFormat::not_empty};
const ConfigRule port = {.min = 0, .max = 65535};
const ConfigRule node_count = {.min = 1, .max = 1024};

} // namespace

void add_cluster_keys(std::vector<ConfigKey>& keys, ClusterConfig& c) {
  keys.push_back({"cluster.listen", &c.listen, address,
                  "Where the daemon answers status, stop and nodes that join; port 0 takes a free "
                  "one"});
  keys.push_back({"cluster.advertise", &c.advertise, address,
                  "How other nodes reach this one, where that is not listen; port 0: at listen's"});
  keys.push_back(
      {"cluster.data_port", &c.data_port, port,
       "Where the workers of other nodes connect, at listen's host; 0 takes a free one"});
  keys.push_back({"cluster.join", &c.join, address,
                  "Daemons whose job this one joins; empty: it leads its own"});
  keys.push_back(
      {"cluster.min_nodes", &c.min_nodes, node_count,
       "Training starts when this many nodes are there, and pauses while there are fewer"});
  keys.push_back({"cluster.max_nodes", &c.max_nodes, node_count,
                  "More wait as spares, for the place of one that goes"});
  keys.push_back(
      {"cluster.insecure",
       &c.insecure,
       {},
       "Listen off loopback without TLS: any client that reaches the port can stop the job"});
  auto& tls = c.tls;
  keys.push_back({"cluster.tls.certificate", &tls.certificate, a_path(),
                  "PEM file of this node's certificate (tools/make-certs makes a set)"});
  keys.push_back({"cluster.tls.key", &tls.key, a_path(), "PEM file of its private key"});
  keys.push_back({"cluster.tls.ca", &tls.ca, a_path(),
                  "PEM file of the authority that signs the certificates of all nodes"});
  keys.push_back({"cluster.tls.names", &tls.names, certificate_name,
                  "Whose certificates are taken, by their subject's common name or a DNS name; "
                  "\".example.org\" stands for all names below it; empty: all of the authority's"});
  auto& t = c.timeouts;
  keys.push_back(
      {"cluster.timeouts.heartbeat", &t.heartbeat, some_time, "Between two heartbeats of a node"});
  keys.push_back({"cluster.timeouts.handshake", &t.handshake, some_time,
                  "A connection that has not completed its handshake after this time is closed"});
  keys.push_back({"cluster.timeouts.detection", &t.detection, some_time,
                  "A node that sends no heartbeat for this time is lost"});
  keys.push_back({"cluster.timeouts.admission", &t.admission, some_time_or_none,
                  "A new node stays connected for this time before training halts to admit it; "
                  "0s: it halts at once"});
  keys.push_back({"cluster.timeouts.form", &t.form, some_time,
                  "After a loss, or when one comes: a node that has not come together with the "
                  "others in time is left behind"});
  keys.push_back({"cluster.timeouts.collective", &t.collective, some_time,
                  "A collective that takes longer has failed"});
  keys.push_back({"cluster.timeouts.quorum", &t.quorum, some_time,
                  "Until min_nodes have come together, also after a loss, or the job fails"});
  keys.push_back(
      {"cluster.timeouts.drain", &t.drain, some_time,
       "From the first SIGTERM to a hard end, which loses the steps since the last checkpoint: "
       "longer than an evaluation takes; at least collective"});
}

} // namespace troupe
