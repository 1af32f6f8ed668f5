package import HTTP
package import JSON
package import Redis

/// The doors of a running service as its users find them: REST, `PUBLISH` and `XADD`.
package struct ServiceDoors: Sendable {
  package enum Door: CaseIterable, Sendable {
    case rest, publish, stream
  }

  /// A door did not take what was given to it.
  package struct Refused: Error, CustomStringConvertible {
    package let description: String
  }

  private let rest: HTTP1Client
  private let token: String?
  private let redis: RedisClient

  /// - Parameter token: what REST asks callers for, if it does.
  package init(rest: HTTP1Client, token: String? = nil, redis: RedisClient) {
    self.rest = rest
    self.token = token
    self.redis = redis
  }

  // MARK: Trips and members

  package struct Created: Sendable {
    package let trip: String
    package let channelID: String?
  }

  package func createTrip(_ body: JSONValue) async throws -> Created {
    let reply = try await call("POST", "/v1/trips", body, expecting: 201)
    guard let trip = reply["trip"]?.string else {
      throw Refused(description: "The reply to creating a trip names no trip.")
    }
    return Created(trip: trip, channelID: reply["channel"]?["id"]?.string)
  }

  package struct Joined: Sendable {
    package let channelID: String?
    /// JSON text.
    package let contentState: String
    package let staleDateSeconds: Int64?
  }

  package func join(_ member: String, trip: String, osVersion: String) async throws -> Joined {
    let body: JSONValue = .object([
      "member": .string(member), "osVersion": .string(osVersion),
    ])
    let reply = try await call("POST", "/v1/trips/\(trip)/members", body, expecting: 200)
    return Joined(
      channelID: reply["channelID"]?.string,
      contentState: (reply["contentState"] ?? .null).serializedText,
      staleDateSeconds: reply["staleDate"]?.int64)
  }

  package func leave(_ member: String, trip: String) async throws {
    _ = try await call("DELETE", "/v1/trips/\(trip)/members/\(member)", nil, expecting: 204)
  }

  package func end(_ trip: String, dismissal: JSONValue) async throws {
    let body: JSONValue = .object(["id": "the-end", "dismissal": dismissal])
    _ = try await call("POST", "/v1/trips/\(trip)/end", body, expecting: 202)
  }

  package func trip(_ trip: String) async throws -> JSONValue {
    try await call("GET", "/v1/trips/\(trip)", nil, expecting: 200)
  }

  // MARK: Triggers

  /// Hands a note to a door.
  package func capture(_ note: JSONValue, trip: String, by door: Door) async throws {
    switch door {
    case .rest:
      _ = try await call("POST", "/v1/trips/\(trip)/notes", note, expecting: 202)
    case .publish:
      _ = try await redis.call(RedisCommand("PUBLISH", "fieldcast:notes", note.serialized()))
    case .stream:
      _ = try await redis.call(
        RedisCommand("XADD", "fieldcast:notes:in", "*", "json", note.serialized()))
    }
  }

  private func call(
    _ method: String, _ path: String, _ body: JSONValue?, expecting status: Int
  ) async throws -> JSONValue {
    var fields: HTTPFields = [:]
    if body != nil { fields["content-type"] = "application/json" }
    if let token { fields["authorization"] = "Bearer \(token)" }
    let request = HTTPRequest(
      method: method, path: path, fields: fields, body: body?.serialized() ?? [])
    switch await rest.send(request, deadline: .seconds(10)) {
    case .answered(let response):
      guard response.status == status else {
        let text = String(decoding: response.body.prefix(500), as: UTF8.self)
        throw Refused(description: "\(method) \(path): \(response.status) \(text)")
      }
      return response.body.isEmpty ? .null : try JSONValue.parse(response.body)
    case .notSent(let failure), .unknown(let failure):
      throw Refused(description: "\(method) \(path): \(failure.message)")
    }
  }
}

extension JSONValue {
  package var serializedText: String { String(decoding: serialized(), as: UTF8.self) }
}
