/// Certificates for tests, made as a user makes them: by tools/make-certs.
#pragma once

#include "../source_tree.hpp"
#include "scratch_folder.hpp"

#include "troupe/core/config_cluster.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace troupe::testing {

inline void run_command(const std::string& command) {
  if (std::system((command + " >/dev/null 2>&1").c_str()) != 0)
    throw std::runtime_error("failed: " + command);
}

/// An authority of its own, and certificates for "node" and "client".
class Certificates {
public:
  Certificates() {
    run_command((source_tree() / "tools/make-certs").string() + " " + folder_.path().string() +
                " node client");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TlsConfig of(const std::string& name) const {
    return {path(name + ".crt"), path(name + ".key"), path("ca.crt")};
  }
  /// One that was valid until yesterday, for the key of "node".
  TlsConfig expired() const {
    run_command("openssl req -new -subj /CN=expired -key " + path("node.key") +
                " | openssl x509 -req -days -1 -CA " + path("ca.crt") + " -CAkey " +
                path("ca.key") + " -out " + path("expired.crt"));
    return {path("expired.crt"), path("node.key"), path("ca.crt")};
  }

private:
  ScratchFolder folder_;
};

} // namespace troupe::testing
