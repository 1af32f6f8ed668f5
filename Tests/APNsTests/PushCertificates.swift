import Foundation
import Transport

/// Certificates as Apple issues them for push notifications, made by the openssl program, so that
/// the client's reading of them is judged by somebody else's writing.
struct PushCertificates {
  let rootPEM: [UInt8]
  /// The app's certificate, then its issuer's.
  let chainPEM: [UInt8]
  let keyPEM: [UInt8]
  let encryptedKeyPEM: [UInt8]
  let pkcs12: [UInt8]
  /// In the ciphers of old keychains.
  let oldPKCS12: [UInt8]
  static let password = "a pass;word"

  /// - Parameters:
  ///   - topics: for the extension that lists them; each is followed by a word about it.
  ///   - extensions: further ones, as `openssl req -addext` takes them.
  static func make(
    userID: String, topics: [String], extensions: [String] = []
  ) async throws -> PushCertificates {
    let workshop = try Workshop()
    defer { workshop.close() }
    try await workshop.issue("root", subject: "/CN=Test root", by: nil)
    try await workshop.issue(
      "middle", subject: "/CN=Test intermediate", by: "root",
      extensions: ["basicConstraints=critical,CA:TRUE"])
    try await workshop.issue(
      "app", subject: "/UID=\(userID)/CN=Apple Push Services: \(userID)", by: "middle",
      extensions: ["basicConstraints=critical,CA:FALSE", topicList(topics)] + extensions)
    let export = [
      "pkcs12", "-export", "-inkey", "app.key", "-in", "app.pem", "-certfile", "middle.pem",
      "-passout", "pass:\(password)",
    ]
    try await workshop.run(export + ["-out", "new.p12"])
    try await workshop.run(export + ["-legacy", "-out", "old.p12"])
    try await workshop.run(
      ["pkcs8", "-topk8", "-in", "app.key", "-out", "secret.key", "-passout", "pass:\(password)"])
    return PushCertificates(
      rootPEM: try workshop.read("root.pem"),
      chainPEM: try workshop.read("app.pem") + workshop.read("middle.pem"),
      keyPEM: try workshop.read("app.key"), encryptedKeyPEM: try workshop.read("secret.key"),
      pkcs12: try workshop.read("new.p12"), oldPKCS12: try workshop.read("old.p12"))
  }

  /// SEQUENCE { UTF8String topic, SEQUENCE { UTF8String word }, … } in hexadecimal.
  private static func topicList(_ topics: [String]) -> String {
    func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
      let length: [UInt8] =
        content.count < 128 ? [UInt8(content.count)] : [0x81, UInt8(content.count)]
      return [tag] + length + content
    }
    let content = topics.flatMap {
      element(0x0C, Array($0.utf8)) + element(0x30, element(0x0C, Array("word".utf8)))
    }
    let hex = element(0x30, content).map { String(format: "%02x", $0) }.joined()
    return "1.2.840.113635.100.6.3.6=DER:\(hex)"
  }
}

/// A folder in which the openssl program works.
private struct Workshop {
  let folder: URL
  private let loop: EventLoop

  struct Failure: Error { let arguments: [String] }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    loop = try EventLoop(name: "openssl")
  }

  func close() {
    try? FileManager.default.removeItem(at: folder)
    loop.stop()
  }

  func read(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
  }

  /// Makes `name.pem` and `name.key`.
  func issue(
    _ name: String, subject: String, by issuer: String?, extensions: [String] = []
  ) async throws {
    var arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
      "2", "-subj", subject, "-keyout", "\(name).key", "-out", "\(name).pem",
    ]
    if let issuer { arguments += ["-CA", "\(issuer).pem", "-CAkey", "\(issuer).key"] }
    for text in extensions { arguments += ["-addext", text] }
    try await run(arguments)
  }

  func run(_ arguments: [String]) async throws {
    let files = arguments.map { argument in
      argument.hasSuffix(".pem") || argument.hasSuffix(".key") || argument.hasSuffix(".p12")
        ? folder.appendingPathComponent(argument).path : argument
    }
    let process = try await Subprocess.start("/usr/bin/openssl", arguments: files, on: loop)
    guard await process.waitForExit() == 0 else { throw Failure(arguments: arguments) }
  }
}
