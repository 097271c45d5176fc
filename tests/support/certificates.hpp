/// Certificates for tests, created by tools/make-certs as a user does.
#pragma once

#include "core/config/cluster.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/shell_line.hpp"
#include "tests/support/source_tree.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::testing {

inline void run_command(const std::string& command) {
  if (std::system((command + " >/dev/null 2>&1").c_str()) != 0)
    throw std::runtime_error("failed: " + command);
}

/// Returns settings for --set and for the options of `troupe status`.
inline std::vector<std::string> settings_of(const TlsConfig& tls) {
  return {"cluster.tls.certificate=" + *tls.certificate, "cluster.tls.key=" + *tls.key,
          "cluster.tls.ca=" + *tls.ca};
}
inline std::vector<std::string> options_of(const TlsConfig& tls) {
  return {"--tls-cert", *tls.certificate, "--tls-key", *tls.key, "--tls-ca", *tls.ca};
}

/// A separate authority with certificates for "node" and "client".
class Certificates {
public:
  Certificates() {
    run_command(shell_word((source_tree() / "tools/make-certs").string()) + " " +
                shell_word(folder_.path().string()) + " node client");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TlsConfig of(const std::string& name) const {
    return {path(name + ".crt"), path(name + ".key"), path("ca.crt")};
  }
  /// Creates another certificate of this authority.
  TlsConfig made(const std::string& name, const std::string& subject,
                 const std::string& names) const {
    run_command("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout " +
                path(name + ".key") + " -out " + path(name + ".crt") + " -subj '" + subject +
                "' -addext subjectAltName=" + names + " -CA " + path("ca.crt") + " -CAkey " +
                path("ca.key"));
    return of(name);
  }
  /// Creates a certificate for the key of "node" that expired long ago and was valid for a day.
  /// Uses `openssl ca`, the only command that takes dates in every version.
  TlsConfig expired() const {
    std::ofstream{path("ca.cnf")} << "[ca]\ndefault_ca = own\n[own]\nrand_serial = yes\n"
                                  << "default_md = sha256\npolicy = any\nnew_certs_dir = "
                                  << path("") << "\ndatabase = " << path("index.txt")
                                  << "\n[any]\ncommonName = supplied\n";
    std::ofstream{path("index.txt")};
    run_command("openssl req -new -subj /CN=expired -key " + path("node.key") + " -out " +
                path("expired.csr"));
    run_command("openssl ca -batch -notext -config " + path("ca.cnf") + " -cert " + path("ca.crt") +
                " -keyfile " + path("ca.key") +
                " -startdate 20200101000000Z -enddate 20200102000000Z -in " + path("expired.csr") +
                " -out " + path("expired.crt"));
    return {path("expired.crt"), path("node.key"), path("ca.crt")};
  }

private:
  ScratchFolder folder_;
};

} // namespace troupe::testing
