internal import APNs
internal import Clocks
internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

/// `/v1/notifications`: pushes to all devices of a member or of a trip's members, or to one device,
/// now or at a time.
struct NotificationAPI: Sendable {
  let api: TripAPI
  let fetcher: ContentFetcher
  let rules: NotificationRules

  /// How many of one trip, or of one member, may be waiting for their time.
  static let mostOpen = 100

  // MARK: POST /v1/notifications

  func create(_ request: HTTPRequest) async -> HTTPResponse {
    await api.answering {
      try await api.once(request, at: "/v1/notifications", by: "id", status: 202) { proposed in
        let wanted = try NotificationRequest.read(request.body, now: api.clock.wall)
        let id = NotificationID(home: home(of: wanted), name: Self.name(proposed))
        try await check(wanted, id)
        let life = NotificationLife(wanted, at: api.clock.wall, rules: rules)
        try await store(id, wanted, life)
        let document = NotificationDocument(
          NotificationRecord(id: id, request: wanted.bytes, life: life), wanted)
        return .json(
          202, document.written(), ["location": "/v1/notifications/\(id)"])
      }
    }
  }

  func store(
    _ id: NotificationID, _ wanted: NotificationRequest, _ life: NotificationLife
  ) async throws {
    let outcome = try await api.store.createNotification(
      id, request: wanted.bytes, life: life, limit: Self.mostOpen, at: api.clock.wall)
    if case .tooMany(let open) = outcome {
      throw ProblemError(
        ProblemDocument(
          .tooManyNotifications,
          "\(open) notifications to this \(wanted.recipient.noun) are not "
            + "sent yet, and no more than \(Self.mostOpen) may wait. Cancel some, or wait."))
    }
    await api.news.changed(id.home)
  }

  /// What the store and the settings have to say to a request.
  private func check(_ wanted: NotificationRequest, _ id: NotificationID) async throws {
    if let trip = wanted.trip {
      let app = try await api.record(of: trip).definition.app
      if let bundleID = wanted.bundleID, bundleID != app.bundleID {
        throw Refusal(
          Problem(.badValue, at: "/bundleID", "The trip is of the app \(app.bundleID)."))
      }
    } else if let bundleID = wanted.bundleID,
      api.settings.environments(of: bundleID).isEmpty
    {
      throw Refusal(
        Problem(
          .badValue, at: "/bundleID",
          "No app of that bundle ID is configured here. Configured: "
            + api.settings.apps.map { "\($0)" }.joined(separator: ", ") + "."))
    }
    if let source = wanted.source, let reason = fetcher.refusal(of: source.url) {
      throw Refusal(Problem(.badValue, at: "/source/url", reason))
    }
    do {
      _ = try Push(wanted, id, content: nil)
    } catch let error as PayloadError {
      throw Refusal(Self.problem(error))
    } catch {
      throw Refusal(Problem(.badValue, "\(error)"))
    }
  }

  private static func problem(_ error: PayloadError) -> Problem {
    if case .tooLarge = error { return Problem(.stateTooLarge, "\(error)") }
    return Problem(.badValue, "\(error)")
  }

  private func home(of wanted: NotificationRequest) -> TripID {
    switch wanted.recipient {
    case .member(let member): TripID(digestOf: "member " + member.text)
    case .device(let device): TripID(digestOf: "device " + device.digest)
    case .trip(let trip), .withoutCard(let trip): trip
    }
  }

  private static func name(_ proposed: TripID) -> String {
    String(proposed.text.filter { $0 != "-" }.prefix(16))
  }

  // MARK: GET and DELETE /v1/notifications/{id}

  func read(_ text: String) async -> HTTPResponse {
    await api.answering {
      let record = try await record(text)
      return .json(200, try document(of: record).written())
    }
  }

  /// Cancels one that is not being sent yet.
  func cancel(_ text: String) async -> HTTPResponse {
    await api.answering {
      var record = try await record(text)
      while true {
        var life = record.life
        if life.phase == .cancelled { return HTTPResponse(status: 204) }
        guard life.cancel(at: api.clock.wall) else {
          throw ProblemError(
            ProblemDocument(
              .notificationUnderWay,
              "The notification is \(life.phase.rawValue): only one that is scheduled or "
                + "armed can be cancelled."))
        }
        let outcome = try await api.store.changeNotification(
          NotificationChange(record.id, from: record.life, to: life), owner: nil,
          at: api.clock.wall)
        switch outcome {
        case .changed, .fenced: return HTTPResponse(status: 204)
        case .conflict(let current): record.life = current
        case .unknown: throw ProblemError(.unknownNotification(text))
        }
      }
    }
  }

  private func record(_ text: String) async throws -> NotificationRecord {
    guard let id = NotificationID(text), let record = try await api.store.notification(id) else {
      throw ProblemError(.unknownNotification(text))
    }
    return record
  }

  private func document(of record: NotificationRecord) throws -> NotificationDocument {
    NotificationDocument(record, try NotificationRequest.read(record.request, now: nil))
  }
}

extension NotificationRequest.Recipient {
  fileprivate var noun: String {
    switch self {
    case .member: "member"
    case .device: "device"
    case .trip, .withoutCard: "trip"
    }
  }
}

extension ProblemDocument {
  fileprivate static func unknownNotification(_ id: String) -> ProblemDocument {
    ProblemDocument(
      .unknownNotification,
      "There is no notification \(id.prefix(60)). They are kept for a week after they are "
        + "over.")
  }
}
