internal import Clocks
internal import Crypto
internal import FieldTrips
internal import HTTP
internal import JSON
internal import Transport
internal import TripStore

/// What the REST calls do, from a request to a response; sockets and paths are the router's.
struct TripAPI: Sendable {
  struct Settings: Sendable {
    /// The first is meant when a request names none.
    var activityTypes: [ActivityType]
    /// The first is meant when a request names none.
    var apps: [AppID]
    var rules: TripRules

    /// The one that tokens are of which name none.
    var firstBundleID: String { apps[0].bundleID }

    /// Where an app is, in the order in which they were configured; empty where it is not.
    func environments(of bundleID: String) -> [AppID.Environment] {
      apps.filter { $0.bundleID == bundleID }.map(\.environment)
    }

    /// An app as tokens name it.
    func tokenApp(_ bundleID: String) -> TokenApp { TokenApp(bundleID, first: firstBundleID) }

    func type(named name: String) -> ActivityType? { activityTypes.first { $0.name == name } }
  }

  let store: TripStore
  let owner: Owner
  let news: LogNews
  let intake: TriggerIntake
  let channels: ChannelManager
  let settings: Settings
  let clock: ServiceClock
  let log: ServiceLog

  init(
    store: TripStore, owner: Owner, intake: TriggerIntake, channels: ChannelManager,
    settings: Settings, clock: ServiceClock, log: ServiceLog
  ) {
    self.store = store
    self.owner = owner
    news = LogNews(owner: owner, store: store)
    self.intake = intake
    self.channels = channels
    self.settings = settings
    self.clock = clock
    self.log = log
  }

  var typesByName: [String: ActivityType] {
    Dictionary(uniqueKeysWithValues: settings.activityTypes.map { ($0.name, $0) })
  }

  /// Runs what answers a request, and makes a problem document of what goes wrong.
  func answering(
    _ body: () async throws -> HTTPResponse
  ) async -> HTTPResponse {
    do {
      return try await body()
    } catch let refusal as Refusal {
      return ProblemDocument(refusal).response
    } catch let error as StoreError {
      log.warning("a request failed at the store", ["reason": "\(error)"])
      return ProblemDocument(error).response
    } catch let problem as ProblemError {
      return problem.document.response
    } catch {
      log.error("a request failed", ["reason": "\(error)"])
      return ProblemDocument(
        .internalError, "The service failed in an unforeseen way; its log says how."
      ).response
    }
  }

  /// The trip that a path names.
  func tripID(_ text: String) throws(ProblemError) -> TripID {
    guard let trip = try? TripID(text) else { throw ProblemError(.unknownTrip(text)) }
    return trip
  }

  /// The member that a path or query names.
  func memberID(_ text: String) throws(Refusal) -> MemberID {
    do throws(IdentifierError) { return try MemberID(text) } catch {
      throw Refusal(Problem(.badIdentifier, error.message))
    }
  }

  func record(of trip: TripID) async throws -> TripRecord {
    guard let record = try await store.trip(trip) else {
      throw ProblemError(.unknownTrip(trip.text))
    }
    return record
  }

  func parse(_ body: [UInt8]) throws(Refusal) -> JSONValue {
    do throws(JSONError) { return try JSONValue.parse(body) } catch { throw Refusal(error) }
  }
}

/// Ends a request with a problem document.
struct ProblemError: Error {
  let document: ProblemDocument

  init(_ document: ProblemDocument) { self.document = document }
}

extension HTTPResponse {
  static func json(_ status: Int, _ body: [UInt8], _ fields: HTTPFields = [:]) -> HTTPResponse {
    var fields = fields
    fields["content-type"] = "application/json"
    return HTTPResponse(status: status, fields: fields, body: body)
  }
}
