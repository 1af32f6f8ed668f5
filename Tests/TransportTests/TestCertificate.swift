import Foundation

@testable import Transport

/// A self-signed certificate for `localhost`, made by the openssl program, so that these tests
/// judge our TLS by somebody else's keys.
struct TestCertificate {
  let certificatePEM: [UInt8]
  let keyPEM: [UInt8]

  static func make(on loop: EventLoop) async throws -> TestCertificate {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let certificate = folder.appendingPathComponent("certificate.pem")
    let key = folder.appendingPathComponent("key.pem")
    let process = try await Subprocess.start(
      "/usr/bin/openssl",
      arguments: [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", key.path, "-out", certificate.path,
      ], on: loop)
    guard await process.waitForExit() == 0 else {
      throw TLSConfigurationError(description: "openssl made no certificate")
    }
    return TestCertificate(
      certificatePEM: [UInt8](try Data(contentsOf: certificate)),
      keyPEM: [UInt8](try Data(contentsOf: key)))
  }

  func server(alpn: [String]) throws -> TLSServerContext {
    let identity = TLSIdentity(certificateChainPEM: certificatePEM, privateKeyPEM: keyPEM)
    return try TLSServerContext(identity: identity, alpn: alpn)
  }

  func client(alpn: [String]) throws -> TLSClientContext {
    try TLSClientContext(trust: .pem(certificatePEM), alpn: alpn)
  }
}
