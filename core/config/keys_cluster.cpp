#include "core/config/detail/keys.hpp"

namespace troupe {

namespace {

const ConfigRule address = of_format(ConfigFormat::endpoint);
const ConfigRule some_time = above(0);
const ConfigRule some_time_or_none = at_least(0);
const ConfigRule certificate_name = of_format(ConfigFormat::not_empty);
const ConfigRule port = between(0, 65535);
const ConfigRule node_count = between(1, 1024);

FormsTarget nodes_forms(ClusterConfig& c) {
  return {&c.min_nodes,
          {{.fields = {bound_key("", c.min_nodes, node_count), bound_key("", c.max_nodes)},
            .fits = [&c] { return c.min_nodes == c.max_nodes; }},
           {.fields = {bound_key("min", c.min_nodes, node_count,
                                 "training starts when this many have joined, and pauses while "
                                 "there are fewer"),
                       bound_key("max", c.max_nodes, node_count,
                                 "more nodes wait as spares, and replace nodes that leave or are "
                                 "lost")}}}};
}

FormsTarget tls_forms(TlsConfig& c) {
  return word_or_mapping(
      "null", c,
      {bound_key("certificate", c.certificate, a_path(), "PEM file of this node's certificate"),
       bound_key("key", c.key, a_path(), "PEM file of the private key"),
       bound_key("ca", c.ca, a_path(),
                 "PEM file of the authority that signs the certificates of all nodes"),
       bound_key("names", c.names, certificate_name,
                 "names of accepted certificates: the subject's common name or a DNS "
                 "name; \".example.org\" stands for all names below it; empty, the "
                 "default: all certificates of the authority")});
}

/// Timeouts that follow from detection. Only tests set them.
void add_test_timeouts(KeyList& keys, TimeoutsConfig& t) {
  const std::string help = "Instead of the value that follows from detection";
  keys.add_hidden("cluster.timeouts.heartbeat", t.heartbeat, some_time, help);
  keys.add_hidden("cluster.timeouts.handshake", t.handshake, some_time, help);
  keys.add_hidden("cluster.timeouts.admission", t.admission, some_time_or_none, help);
}

} // namespace

void add_cluster_keys(KeyList& keys, ClusterConfig& c) {
  keys.add(
      "cluster.listen", c.listen, address,
      "Address on which the daemon answers status, stop and joining nodes; port 0: any free port");
  keys.add_field("address", "advertise", c, &ClusterConfig::advertise,
                 "address at which other nodes reach this one, if it differs; port 0: address's "
                 "port",
                 address);
  keys.add_field("address", "data_port", c, &ClusterConfig::data_port,
                 "port for the workers of other nodes, on the same host; 0, the default: any free "
                 "port",
                 port);
  keys.add("cluster.join", c.join, address,
           "Daemons whose job this one joins; empty: it leads a new job");
  keys.add("cluster.nodes", nodes_forms(c), "Number of training nodes");
  keys.add("cluster.insecure", c.insecure,
           "Allow listening off loopback without TLS, although any client that reaches the port "
           "can stop the job");
  keys.add("cluster.tls", tls_forms(c.tls),
           "TLS: only peers with a certificate of the same authority can connect (tools/make-certs "
           "makes a set)");
  auto& t = c.timeouts;
  add_test_timeouts(keys, t);
  keys.add("cluster.timeouts.detection", t.detection, some_time,
           "A node that sends no heartbeat for this time is lost. Heartbeats are sent 20 times in "
           "it. A new node must stay connected for it before training halts to admit it, and must "
           "complete its handshake within five times of it");
  keys.add("cluster.timeouts.rejoin", t.rejoin, some_time,
           "Time for nodes to build a generation, after one is lost or joins; a node that is not "
           "ready in time is left out");
  keys.add("cluster.timeouts.collective", t.collective, some_time,
           "A collective that takes longer has failed");
  keys.add("cluster.timeouts.quorum", t.quorum, some_time,
           "Time to wait for nodes.min, also after a loss, before the job fails");
  keys.add("cluster.timeouts.drain", t.drain, some_time,
           "Time from the first SIGTERM to a forced exit, which loses the steps since the last "
           "checkpoint; must be longer than an evaluation, and at least collective");
}

} // namespace troupe
