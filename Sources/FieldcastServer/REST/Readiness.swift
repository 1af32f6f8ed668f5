internal import APNs
internal import Clocks
internal import HTTP
internal import TripStore

/// Whether this node can do its work: it does what the work does, a script in Redis and not a PING,
/// and asks the APNs clients how they fare.
struct Readiness: Sendable {
  let store: TripStore
  let clients: [APNsClient]

  /// Alive is whoever answers at all.
  static var alive: HTTPResponse { .json(200, Array(#"{"status":"alive"}"#.utf8)) }

  func response() async -> HTTPResponse {
    do throws(StoreError) {
      // Runs a script and changes nothing: there is no such key.
      try await store.abandonRequest("readiness")
    } catch {
      return ProblemDocument(error).response
    }
    for client in clients {
      if let problem = await client.health.problem {
        return ProblemDocument(
          .apnsUnavailable, "\(client.app): \(problem)", retryAfter: 5
        ).response
      }
    }
    return .json(200, Array(#"{"status":"ready"}"#.utf8))
  }
}
