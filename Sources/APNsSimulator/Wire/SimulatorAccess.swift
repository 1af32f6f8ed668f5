internal import JSON
package import Transport

/// All that a client must be told to use a running simulator.
package struct SimulatorAccess: Sendable, Equatable {
  package var environment: APNsEnvironment
  package var host: String
  package var pushPort: Int
  package var managementPort: Int
  /// Of the HTTP/1.1 introspection listener; nil when there is none.
  package internal(set) var introspectionPort: Int?
  /// The certificate authority that a client must trust, as PEM.
  package var trustPEM: [UInt8]
  /// The provider key as a `.p8` file holds it. A secret, if only a simulator's.
  package var providerKeyPEM: [UInt8]
  package var keyID: String
  package var teamID: String
  package var bundleIDs: [String]
  /// What its random numbers were drawn from; the same seeds repeat a run.
  package var seed: UInt64
  package var faultSeed: UInt64?
  /// A client certificate for the first app, to use instead of provider tokens; with its key.
  package internal(set) var clientIdentity: TLSIdentity?
  /// Where the files were written; nil when they were not.
  package var trustFile: String?
  package var keyFile: String?
  package var certificateFile: String?

  /// One line a setting, for a terminal.
  package var text: String {
    var lines = [
      "environment     \(environment.rawValue)",
      "push            https://\(host):\(pushPort)",
      "management      https://\(host):\(managementPort)",
    ]
    if let introspectionPort {
      lines.append("introspection   http://\(host):\(introspectionPort)")
    }
    lines += ["team ID         \(teamID)", "key ID          \(keyID)"]
    lines += bundleIDs.map { "bundle ID       \($0)" }
    lines.append("seed            \(seed)")
    if let faultSeed { lines.append("fault seed      \(faultSeed)") }
    if let trustFile { lines.append("trust file      \(trustFile)") }
    if let keyFile { lines.append("key file        \(keyFile)") }
    if let certificateFile { lines.append("certificate     \(certificateFile)") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The same as a JSON object. It names the files, and holds no key.
  package var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("environment", environment.rawValue)
      writer.member("host", host)
      writer.member("pushPort", pushPort)
      writer.member("managementPort", managementPort)
      if let introspectionPort { writer.member("introspectionPort", introspectionPort) }
      writer.member("teamID", teamID)
      writer.member("keyID", keyID)
      writer.key("bundleIDs")
      writer.array { writer in
        for bundleID in bundleIDs { writer.string(bundleID) }
      }
      writer.member("seed", Int(clamping: seed))
      if let faultSeed { writer.member("faultSeed", Int(clamping: faultSeed)) }
      if let trustFile { writer.member("trustFile", trustFile) }
      if let keyFile { writer.member("keyFile", keyFile) }
      if let certificateFile { writer.member("certificateFile", certificateFile) }
    }
    return writer.finish()
  }

  /// Writes trust, key and client certificate into a folder, which is made if it is not there, and notes their paths.
  mutating func write(into folder: String) throws(SimulatorStartError) {
    try Files.makeFolder(folder)
    let trust = "\(folder)/simulated-apns-ca.pem"
    let key = "\(folder)/AuthKey_\(keyID).p8"
    try Files.write(trustPEM, to: trust, mode: 0o644)
    try Files.write(providerKeyPEM, to: key, mode: 0o600)
    trustFile = trust
    keyFile = key
    guard let clientIdentity else { return }
    let certificate = "\(folder)/simulated-push-certificate.pem"
    try Files.write(
      clientIdentity.certificateChainPEM + clientIdentity.privateKeyPEM, to: certificate,
      mode: 0o600)
    certificateFile = certificate
  }
}
