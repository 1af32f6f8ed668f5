import FieldcastServer
import HTTP
import JSON
import Testing

@Suite struct `Access to REST` {
  private func bearer(_ token: AccessToken) -> HTTPFields {
    ["authorization": "Bearer \(token.text)"]
  }

  @Test func `is for those whose token has the scope, and tells others what is missing`()
    async throws
  {
    let (app, field, operations) = (AccessToken(), AccessToken(), AccessToken())
    let list = try AccessList(
      parsing: """
        # Who may call.

        \(app.entry(name: "app", scopes: [.trips]))
        \(field.entry(name: "field", scopes: [.notes, .devices]))\r
        \t\(operations.entry(name: "operations", scopes: [.admin]))
        """)
    try await World.with { world in
      try await world.withService({ $0.access = list }) { caller in
        let trip = #"{"name":"Spring walk","notebook":"Birds"}"#
        let none = try await caller.call("POST", "/v1/trips", trip)
        #expect(none.status == 401)
        #expect(none.problem == "unauthorized")
        #expect(none.fields["www-authenticate"] == #"Bearer realm="fieldcast""#)
        let strange = try await caller.call(
          "POST", "/v1/trips", trip, fields: bearer(AccessToken()))
        #expect(strange.status == 401)
        #expect(strange.fields["www-authenticate"]?.contains("invalid_token") == true)
        let wrong = try await caller.call("POST", "/v1/trips", trip, fields: bearer(field))
        #expect(wrong.status == 403)
        #expect(wrong.problem == "wrong-scope")
        #expect(wrong.body["detail"]?.string == "The token of field lacks the scope trips.")
        let made = try await caller.call("POST", "/v1/trips", trip, fields: bearer(app))
        #expect(made.status == 201)
        let id = try #require(made.body["trip"]?.string)

        let note = #"{"id":"n1"}"#
        let path = "/v1/trips/\(id)/notes"
        #expect(try await caller.call("POST", path, note, fields: bearer(app)).status == 403)
        #expect(try await caller.call("POST", path, note, fields: bearer(field)).status == 202)
        // One of several scopes is enough.
        let join = #"{"member":"anna","osVersion":"18.2"}"#
        for token in [app, field] {
          let joined = try await caller.call(
            "POST", "/v1/trips/\(id)/members", join, fields: bearer(token))
          #expect(joined.status < 300, "\(joined.text)")
        }
        #expect(try await caller.call("GET", "/metrics").status == 401)
        #expect(try await caller.call("GET", "/metrics", fields: bearer(operations)).status == 200)
        // What watches over the service asks without a token.
        #expect(try await caller.call("GET", "/healthz").status == 200)
        #expect(try await caller.call("GET", "/readyz").status == 200)
      }
    }
  }

  @Test func `leaves no path open but health's`() async throws {
    let list = try AccessList(parsing: AccessToken().entry(name: "a", scopes: [.trips]))
    try await World.with { world in
      try await world.withService({ $0.access = list }) { caller in
        for (method, path) in [
          ("GET", "/v1/trips"), ("POST", "/v1/trips"), ("GET", "/v1/trips/a"),
          ("GET", "/v1/trips/a/timeline"), ("POST", "/v1/trips/a/members"),
          ("DELETE", "/v1/trips/a/members/b"), ("POST", "/v1/trips/a/notes"),
          ("PUT", "/v1/trips/a/content-state"), ("POST", "/v1/trips/a/end"),
          ("POST", "/v1/devices"), ("POST", "/v1/activity-tokens"), ("GET", "/v1/channels"),
          ("POST", "/v1/channels/reconcile"), ("GET", "/metrics"), ("HEAD", "/v1/trips"),
          ("GET", "/v1/events"),
        ] {
          let answer = try await caller.call(method, path, method == "GET" ? nil : "{}")
          #expect(answer.status == 401, "\(method) \(path)")
        }
      }
    }
  }

  @Test(arguments: [
    ("", "it names nobody"),
    ("# nobody\n\n", "it names nobody"),
    ("app trips", "line 1: it has 2 words"),
    ("\napp trips,note sha256:00", "line 2: there is no scope note; there are trips, notes"),
    ("app trips sha256:abc", "line 1: its third word is not sha256: and 64 hexadecimal digits"),
    ("app trips md5:00", "line 1: its third word"),
  ])
  func `has a list that says which line is wrong`(text: String, reason: String) throws {
    let error = #expect(throws: AccessListError.self) { try AccessList(parsing: text) }
    #expect("\(error as Any)".contains(reason), "\(error as Any)")
  }

  @Test func `refuses an entry that is there twice`() throws {
    let entry = AccessToken().entry(name: "app", scopes: [.trips])
    let error = #expect(throws: AccessListError.self) {
      try AccessList(parsing: entry + "\n" + entry)
    }
    #expect(error?.line == 2)
  }
}
