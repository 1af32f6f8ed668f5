import Clocks
import Crypto
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import Synchronization
import Transport

/// A content source on this machine, over TLS, that answers as the test says.
final class ContentSite: Sendable {
  typealias Answer = @Sendable (_ request: HTTPRequest, _ number: Int) -> HTTPResponse

  let port: Int
  let trustFile: String
  private let server: HTTPServer
  private let state: State

  private final class State: Sendable {
    let requests = Mutex<[HTTPRequest]>([])
    let delay = Mutex(Duration.zero)
    let answer: Mutex<Answer>

    init(_ answer: @escaping Answer) { self.answer = Mutex(answer) }

    func reply(to request: HTTPRequest) -> HTTPResponse {
      let number = requests.withLock {
        $0.append(request)
        return $0.count
      }
      return answer.withLock { $0 }(request, number)
    }
  }

  private init(port: Int, trustFile: String, server: HTTPServer, state: State) {
    self.port = port
    self.trustFile = trustFile
    self.server = server
    self.state = state
  }

  /// What was asked, in order.
  var requests: [HTTPRequest] { state.requests.withLock { $0 } }

  /// Answers so much later from now on, in real time.
  func delay(_ delay: Duration) { state.delay.withLock { $0 = delay } }

  func answer(_ answer: @escaping Answer) { state.answer.withLock { $0 = answer } }

  /// The site is called `notes.test` and `localhost`.
  static func run(
    in world: World, _ answer: @escaping Answer, _ body: (ContentSite) async throws -> Void
  ) async throws {
    let loop = try EventLoop(name: "content")
    defer { loop.stop() }
    let validity = CertificateAuthority.Validity.days(2, fromSeconds: WallClock.now().wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Content authority", validity: validity)
    let issued = try authority.issue(
      .server, names: [.dns("notes.test"), .dns("localhost")], validity: validity)
    let trust = world.folder.appendingPathComponent("content-trust.pem")
    try Data(try authority.certificatePEM()).write(to: trust)
    let tls = try TLSServerContext(
      identity: TLSIdentity(
        certificateChainPEM: issued.chainPEM, privateKeyPEM: issued.privateKeyPEM),
      alpn: ["http/1.1"])
    let state = State(answer)
    let server = try await HTTPServer.start(
      on: .tcp(host: "127.0.0.1", port: 0), tls: tls, loop: loop
    ) { request, _ in
      let delay = state.delay.withLock { $0 }
      if delay > .zero { try? await loop.sleep(for: delay) }
      return .response(state.reply(to: request))
    }
    let site = ContentSite(
      port: await server.port(), trustFile: trust.path, server: server, state: state)
    do {
      try await body(site)
    } catch {
      await server.drain(grace: .zero)
      throw error
    }
    await server.drain(grace: .zero)
  }

  /// Settings that allow this site, and no other private address.
  func hosts(
    tokens: [String] = [], addresses: [String] = ["127.0.0.1"]
  ) -> ContentHosts {
    ContentHosts(
      hosts: [ContentHosts.Host(name: "notes.test", port: port, tokens: tokens)],
      addresses: addresses, trustFile: trustFile)
  }

  /// Has a service fetch from here.
  func allow(
    in configuration: inout ServiceConfiguration, tokens: [String] = [],
    addresses: [String] = ["127.0.0.1"],
    lookUp: @escaping @Sendable (String) -> [String] = { _ in ["127.0.0.1"] }
  ) {
    configuration.contentHosts = hosts(tokens: tokens, addresses: addresses)
    configuration.contentLookUp = lookUp
  }

  static func page(_ bodies: [String], cursor: String, more: Bool = false) -> HTTPResponse {
    let items = bodies.map { "{\"title\":\"Meadow\",\"body\":\"\($0)\"}" }.joined(separator: ",")
    return HTTPResponse(
      status: 200, fields: ["content-type": "application/json"],
      body: Array("{\"items\":[\(items)],\"cursor\":\"\(cursor)\",\"more\":\(more)}".utf8))
  }
}
