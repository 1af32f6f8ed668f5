import Clocks
import Crypto
import FieldcastServer
import Foundation
import HTTP
import Testing
import Transport

/// Certificate and key in two files, issued by an authority of its own.
private struct DoorFiles {
  let files: CertificateFiles

  init(in folder: URL) {
    files = CertificateFiles(
      chain: folder.appendingPathComponent("door.pem").path,
      key: folder.appendingPathComponent("door-key.pem").path)
  }

  /// Puts a new certificate there.
  ///
  /// - Returns: what a client trusts that takes this one and no other.
  func renew() throws -> TLSClientContext {
    let validity = CertificateAuthority.Validity.days(2, fromSeconds: WallClock.now().wholeSeconds)
    let authority = try CertificateAuthority(commonName: "Door authority", validity: validity)
    let issued = try authority.issue(.server, names: [.dns("localhost")], validity: validity)
    try write(issued.privateKeyPEM, files.key)
    try write(issued.chainPEM, files.chain)
    return try TLSClientContext(trust: .pem(try authority.certificatePEM()), alpn: ["http/1.1"])
  }

  func write(_ bytes: [UInt8], _ path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }
}

@Suite struct `REST over TLS` {
  /// The status of a check whether it is ready, over a new connection; nil where the certificate is not believed.
  private func ask(_ port: Int, _ tls: TLSClientContext, _ loop: EventLoop) async -> Int? {
    let client = HTTP1Client(
      endpoint: .tcp(host: "127.0.0.1", port: port), tls: tls, serverName: "localhost", loop: loop)
    let outcome = await client.send(
      HTTPRequest(method: "GET", path: "/readyz"), deadline: .seconds(20))
    await client.close()
    if case .answered(let response) = outcome { return response.status }
    return nil
  }

  @Test func `shows the certificate that is in its files`() async throws {
    try await World.with { world in
      let door = DoorFiles(in: world.folder)
      let first = try door.renew()
      try await world.withService({ $0.certificate = door.files }) { _, service in
        #expect(await ask(service.port, first, world.loop) == 200)
        let kept = HTTP1Client(
          endpoint: .tcp(host: "127.0.0.1", port: service.port), tls: first,
          serverName: "localhost", loop: world.loop)
        _ = await kept.send(HTTPRequest(method: "GET", path: "/healthz"), deadline: .seconds(20))

        let second = try door.renew()
        await service.reload()
        #expect(await ask(service.port, second, world.loop) == 200)
        #expect(await ask(service.port, first, world.loop) == nil)
        // Who is connected stays connected.
        let again = await kept.send(
          HTTPRequest(method: "GET", path: "/healthz"), deadline: .seconds(20))
        if case .answered(let response) = again {
          #expect(response.status == 200)
        } else {
          Issue.record("\(again)")
        }
        await kept.close()

        // One that cannot be used changes nothing.
        try door.write(Array("half a cert".utf8), door.files.chain)
        await service.reload()
        #expect(await ask(service.port, second, world.loop) == 200)
      }
    }
  }

  @Test func `does not start with a certificate and key that do not belong together`() async throws
  {
    try await World.with { world in
      let door = DoorFiles(in: world.folder)
      _ = try door.renew()
      let key = try Data(contentsOf: URL(fileURLWithPath: door.files.key))
      _ = try door.renew()
      try door.write([UInt8](key), door.files.key)
      let failure = await #expect(throws: StartFailure.self) {
        try await world.withService({ $0.certificate = door.files }) { _, _ in }
      }
      #expect(failure?.description.contains("does not belong to the certificate") == true)
    }
  }

  @Test func `reads its certificate again on SIGHUP`() async throws {
    try await World.with { world in
      let door = DoorFiles(in: world.folder)
      let first = try door.renew()
      let port = try await StreamListener.freePort(on: world.loop)
      let process = try await world.serve(
        [
          "--listen", "127.0.0.1:\(port)",
          "--redis", world.storeURL,
          "--tls-certificate", door.files.chain, "--tls-key", door.files.key,
        ], log: "serve.log")
      try await world.waitUntil("it serves") { await ask(port, first, world.loop) == 200 }
      let second = try door.renew()
      process.signal(SIGHUP)
      try await world.waitUntil("it shows the new one") {
        await ask(port, second, world.loop) == 200
      }
      process.terminate()
      #expect(await process.waitForExit() == 0)
    }
  }
}
