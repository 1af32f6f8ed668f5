import Clocks
import Crypto
import FieldcastServer
import Foundation
import HTTP
import JSON
import Synchronization
import Testing

@Suite struct `A member's token` {
  @Test func `lets a member act for itself and for nobody else`() async throws {
    let backend = try MemberBackend()
    try await World.with { world in
      let file = try JWKFile(try backend.jwk, in: world)
      let staff = AccessToken()
      let list = try AccessList(parsing: staff.entry(name: "staff", scopes: [.trips]))
      try await world.withService({
        $0.members = file.access()
        $0.access = list
      }) { caller in
        let asStaff: HTTPFields = ["authorization": "Bearer \(staff.text)"]
        let anna = try backend.bearer("anna", at: world.clock.wall)
        let made = try await caller.call(
          "POST", "/v1/trips", #"{"name":"Walk","notebook":"Birds"}"#, fields: asStaff)
        let trip = try #require(made.body["trip"]?.string)
        func answer(_ method: String, _ path: String, _ body: String?) async throws -> String {
          let answer = try await caller.call(method, path, body, fields: anna)
          return "\(answer.status) \(answer.problem ?? "")"
        }
        let members = "/v1/trips/\(trip)/members"
        #expect(try await answer("POST", members, #"{"member":"anna"}"#) == "200 ")
        #expect(try await answer("POST", members, #"{"member":"ben"}"#) == "403 not-yourself")
        #expect(try await answer("GET", members + "/anna", nil) == "200 ")
        #expect(try await answer("GET", members + "/ben", nil) == "403 not-yourself")
        #expect(try await answer("DELETE", members + "/ben", nil) == "403 not-yourself")

        let notes = "/v1/trips/\(trip)/notes"
        #expect(try await answer("POST", notes, #"{"id":"1"}"#) == "202 ")
        #expect(try await answer("POST", notes, #"[{"id":"2","member":"anna"}]"#) == "202 ")
        #expect(
          try await answer("POST", notes, #"[{"id":"3"},{"id":"4","member":"ben"}]"#)
            == "403 not-yourself")
        #expect(
          try await answer("POST", notes, #"{"id":"5","kind":"phase","phase":"over"}"#)
            == "403 wrong-scope")

        let device = "/v1/devices"
        #expect(try await answer("POST", device, #"{"deviceToken":"aa"}"#) == "200 ")
        #expect(
          try await answer("POST", device, #"{"deviceToken":"bb","member":"ben"}"#)
            == "403 not-yourself")
        // What was registered without a name is the member's own.
        let known = try await caller.call("GET", members + "/anna", fields: asStaff)
        #expect(known.body["tokens"]?["devices"]?.int64 == 1)

        for (method, path) in [
          ("POST", "/v1/trips"), ("GET", "/v1/trips"), ("GET", "/v1/trips/\(trip)"),
          ("POST", "/v1/trips/\(trip)/end"), ("POST", "/v1/notifications"), ("GET", "/v1/channels"),
          ("GET", "/metrics"),
        ] {
          #expect(try await answer(method, path, "{}") == "403 wrong-scope", "\(method) \(path)")
        }
        #expect(try await answer("DELETE", members + "/anna", nil) == "204 ")
      }
    }
  }

  @Test func `does not touch another member's card`() async throws {
    let backend = try MemberBackend()
    try await World.with { world in
      let file = try JWKFile(try backend.jwk, in: world)
      try await world.withService { try await Self.join("ben", "card-b", $0) }
      try await world.withService({ $0.members = file.access() }) { caller in
        let anna = try backend.bearer("anna", at: world.clock.wall)
        let token = try await caller.call(
          "POST", "/v1/activity-tokens", #"{"activityToken":"cc","activityID":"card-b"}"#,
          fields: anna)
        #expect(token.problem == "not-yourself")
        let over = try await caller.call("DELETE", "/v1/activity-tokens/card-b", fields: anna)
        #expect(over.problem == "not-yourself")
      }
    }
  }

  private static func join(_ member: String, _ card: String, _ caller: TestCaller) async throws {
    let trip = try await caller.createTrip()
    let answer = try await caller.call(
      "POST", "/v1/trips/\(trip.id)/members",
      #"{"member":"\#(member)","activityID":"\#(card)","activityToken":"ab"}"#)
    try #require(answer.status == 200)
  }

  @Test func `is refused unless everything about it is right`() async throws {
    let (backend, stranger) = (try MemberBackend(), try MemberBackend())
    try await World.with { world in
      let file = try JWKFile(try backend.jwk, RSABackend.jwk, in: world)
      try await world.withService({ $0.members = file.access() }) { caller in
        let now = world.clock.wall.seconds
        func claims(
          iss: String = MemberBackend.issuer, aud: String = #""fieldcast""#, exp: String? = nil,
          sub: String = #""anna""#, more: String = ""
        ) -> String {
          #"{"iss":"\#(iss)","aud":\#(aud),"sub":\#(sub),"exp":\#(exp ?? "\(now + 600)")\#(more)}"#
        }
        let head = backend.head
        let good = try backend.token(head: head, claims: claims())
        let parts = good.split(separator: ".")
        let unsigned = MemberBackend.unsigned
        let publicKey = Array(try backend.key.publicKey.spkiPEM())
        let confused = unsigned(#"{"alg":"HS256","kid":"ec-1"}"#, claims())
        let mac = Digest.hmacSHA256(Array(confused.utf8), key: publicKey)
        let bad: [(String, String)] = [
          ("no signature", "\(parts[0]).\(parts[1])."),
          ("alg none", unsigned(#"{"alg":"none"}"#, claims()) + "."),
          ("alg None", unsigned(#"{"alg":"None"}"#, claims()) + "."),
          ("HS256 by the public key", confused + "." + Base64.url.encodeText(mac)),
          ("another's signature", try stranger.token(head: head, claims: claims())),
          (
            "RS256 said of an EC signature",
            try backend.token(head: #"{"alg":"RS256","kid":"rsa-1"}"#, claims: claims())
          ),
          (
            "ES256 said of the RSA key",
            try backend.token(head: #"{"alg":"ES256","kid":"rsa-1"}"#, claims: claims())
          ),
          (
            "an unknown key",
            try backend.token(head: #"{"alg":"ES256","kid":"x"}"#, claims: claims())
          ),
          (
            "an extension that must be understood",
            try backend.token(
              head: #"{"alg":"ES256","kid":"ec-1","crit":["exp"]}"#, claims: claims())
          ),
          (
            "another body",
            "\(parts[0]).\(unsigned("{}", claims(sub: #""ben""#)).dropFirst(4)).\(parts[2])"
          ),
          (
            "another issuer",
            try backend.token(head: head, claims: claims(iss: "https://b.example"))
          ),
          ("another audience", try backend.token(head: head, claims: claims(aud: #""x""#))),
          ("audiences without ours", try backend.token(head: head, claims: claims(aud: #"["x"]"#))),
          ("expired", try backend.token(head: head, claims: claims(exp: "\(now - 120)"))),
          ("no expiry", try backend.token(head: head, claims: claims(exp: "null"))),
          ("expiry as text", try backend.token(head: head, claims: claims(exp: #""2100""#))),
          (
            "not yet", try backend.token(head: head, claims: claims(more: #","nbf":\#(now + 9e5)"#))
          ),
          (
            "from the future",
            try backend.token(head: head, claims: claims(more: #","iat":\#(now + 9e5)"#))
          ),
          ("no subject", try backend.token(head: head, claims: claims(sub: "null"))),
          (
            "a subject that is no ID",
            try backend.token(head: head, claims: claims(sub: #""a\nb""#))
          ),
          ("a member twice", try backend.token(head: head, claims: claims(more: #","sub":"ben""#))),
          ("padding", good + "="), ("four parts", good + "."), ("nothing", ".."),
          (
            "a size",
            try backend.token(
              head: head, claims: claims(more: #","x":"\#(String(repeating: "x", count: 9_000))""#))
          ),
        ]
        for (what, token) in bad {
          let answer = try await caller.call(
            "POST", "/v1/devices", #"{"deviceToken":"aa"}"#,
            fields: ["authorization": "Bearer \(token)"])
          #expect(answer.status == 401, "\(what): \(answer.text)")
          #expect(answer.fields["www-authenticate"]?.contains("invalid_token") == true, "\(what)")
        }
        for token in [good, RSABackend.token] {
          let answer = try await caller.call(
            "POST", "/v1/devices", #"{"deviceToken":"aa"}"#,
            fields: ["authorization": "Bearer \(token)"])
          #expect(answer.status == 200, "\(answer.text)")
        }
      }
    }
  }

  @Test func `has the scopes that it names, and never more than a member's`() async throws {
    let backend = try MemberBackend()
    try await World.with { world in
      let file = try JWKFile(try backend.jwk, in: world)
      try await world.withService({ $0.members = file.access() }) { caller in
        func status(_ more: String) async throws -> Int {
          try await caller.call(
            "POST", "/v1/devices", #"{"deviceToken":"aa"}"#,
            fields: backend.bearer("anna", at: world.clock.wall, more: more)
          ).status
        }
        #expect(try await status("") == 200)
        #expect(try await status(#","scope":"openid devices""#) == 200)
        #expect(try await status(#","scp":["devices"]"#) == 200)
        #expect(try await status(#","scope":"notes""#) == 403)
        let all = try await caller.call(
          "GET", "/v1/trips",
          fields: backend.bearer(
            "anna", at: world.clock.wall, more: #","scope":"trips admin push""#))
        #expect(all.status == 403)
      }
    }
  }

  @Test func `is checked by new keys as soon as one names them`() async throws {
    let (old, new) = (try MemberBackend(keyID: "old"), try MemberBackend(keyID: "new"))
    try await World.with { world in
      let keys = JWKSite(old)
      try await ContentSite.run(in: world, { _, _ in keys.answer }) { site in
        var access = MemberAccess(
          rules: MemberTokenRules(issuer: MemberBackend.issuer, audience: "fieldcast"),
          keys: .url("https://localhost:\(site.port)/jwks", trustFile: site.trustFile))
        access.leastPause = .zero
        try await world.withService({ [access] in $0.members = access }) { caller in
          func status(_ backend: MemberBackend) async throws -> Int {
            try await caller.call(
              "POST", "/v1/devices", #"{"deviceToken":"aa"}"#,
              fields: backend.bearer("anna", at: world.clock.wall)
            ).status
          }
          #expect(try await status(old) == 200)
          #expect(try await status(old) == 200)
          #expect(site.requests.count == 1, "good keys are asked for once")
          #expect(try await status(new) == 401)
          try keys.publish(old, new)
          #expect(try await status(new) == 200)
          // A backend that fails meanwhile takes no key away.
          keys.fail()
          #expect(try await status(try MemberBackend(keyID: "other")) == 401)
          #expect(try await status(old) == 200)
        }
      }
    }
  }

  @Test func `cannot be checked without keys, and is not believed then`() async throws {
    let backend = try MemberBackend()
    try await World.with { world in
      let keys = JWKSite(backend)
      keys.fail()
      try await ContentSite.run(in: world, { _, _ in keys.answer }) { site in
        let access = MemberAccess(
          rules: MemberTokenRules(issuer: MemberBackend.issuer, audience: "fieldcast"),
          keys: .url("https://localhost:\(site.port)/jwks", trustFile: site.trustFile))
        try await world.withService({ $0.members = access }) { caller in
          let answer = try await caller.call(
            "POST", "/v1/devices", #"{"deviceToken":"aa"}"#,
            fields: backend.bearer("anna", at: world.clock.wall))
          #expect(answer.status == 503)
          #expect(answer.problem == "keys-unavailable")
        }
      }
    }
  }

  @Test func `is asked for where the service knows members only`() async throws {
    let backend = try MemberBackend()
    try await World.with { world in
      let file = try JWKFile(try backend.jwk, in: world)
      try await world.withService({ $0.members = file.access() }) {
        (caller: TestCaller) async throws in
        #expect(try await caller.call("GET", "/v1/trips").status == 401)
        let other: HTTPFields = ["authorization": "Bearer \(AccessToken().text)"]
        #expect(try await caller.call("GET", "/v1/trips", fields: other).status == 401)
      }
    }
  }
}

/// What a backend's key address answers.
private final class JWKSite: Sendable {
  private let state: Mutex<HTTPResponse>

  init(_ backends: MemberBackend...) {
    state = Mutex(HTTPResponse(status: 500))
    try? publish(backends)
  }

  var answer: HTTPResponse { state.withLock { $0 } }

  func publish(_ backends: MemberBackend...) throws { try publish(backends) }

  func fail() { state.withLock { $0 = HTTPResponse(status: 500) } }

  private func publish(_ backends: [MemberBackend]) throws {
    let keys = try backends.map { try $0.jwk }.joined(separator: ",")
    state.withLock {
      $0 = HTTPResponse(status: 200, body: Array(#"{"keys":[\#(keys)]}"#.utf8))
    }
  }
}

@Suite struct `Callers of REST` {
  @Test func `who ask too often are told when to come again`() async throws {
    let (one, other) = (AccessToken(), AccessToken())
    let list = try AccessList(
      parsing: [("one", one), ("other", other)].map { $1.entry(name: $0, scopes: [.trips]) }
        .joined(separator: "\n"))
    let backend = try MemberBackend()
    try await World.with { world in
      let file = try JWKFile(try backend.jwk, in: world)
      try await world.withService({
        $0.access = list
        $0.members = file.access()
        // One in a hundred seconds: within the test no token comes back.
        $0.callerRate = 0.01
        $0.memberRate = 0.2
      }) { caller in
        func list(_ token: AccessToken) async throws -> TestCaller.Answer {
          try await caller.call(
            "GET", "/v1/trips", fields: ["authorization": "Bearer \(token.text)"])
        }
        #expect(try await list(one).status == 200)
        let refused = try await list(one)
        #expect(refused.status == 429)
        #expect(refused.problem == "too-many-requests")
        let wait = try #require(refused.fields["retry-after"].flatMap { Int($0) })
        #expect((1...100).contains(wait))
        #expect(try await list(other).status == 200, "each caller has its own")

        var answers: [Int] = []
        for _ in 0..<4 {
          answers.append(
            try await caller.call(
              "POST", "/v1/devices", #"{"deviceToken":"aa"}"#,
              fields: backend.bearer("anna", at: world.clock.wall)
            ).status)
        }
        #expect(answers.prefix(2) == [200, 200] && answers.last == 429)
        // What watches over the service is never told to wait.
        for _ in 0..<5 { #expect(try await caller.call("GET", "/healthz").status == 200) }
      }
    }
  }

  @Test func `are counted by address where there are no tokens`() async throws {
    try await World.with { world in
      try await world.withService({ $0.callerRate = 0.01 }) { (caller: TestCaller) async throws in
        #expect(try await caller.call("GET", "/v1/trips").status == 200)
        #expect(try await caller.call("GET", "/v1/trips").status == 429)
      }
    }
  }
}
