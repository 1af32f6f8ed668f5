internal import Clocks
internal import Crypto
internal import FieldTrips
internal import HTTP
internal import JSON
internal import TripStore

extension TripAPI {
  // MARK: POST /v1/trips

  /// Creates a trip with its channel and first content-state.
  ///
  /// With an `Idempotency-Key`, the same request again has the same answer for a day.
  func createTrip(_ request: HTTPRequest) async -> HTTPResponse {
    await answering {
      try await once(request, at: "/v1/trips", by: "trip", status: 201) { trip in
        try await create(request, as: trip)
      }
    }
  }

  /// Carries a request out once that creates something, if it has an `Idempotency-Key`.
  ///
  /// - Parameters:
  ///   - path: keys of several paths are several keys.
  ///   - member: of the answer, the name of what was created under the path.
  ///   - status: of the answer, when it is given again.
  ///   - create: is given an ID, the same when an earlier attempt died on the way.
  func once(
    _ request: HTTPRequest, at path: String, by member: String, status: Int,
    create: (TripID) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    guard let key = request.fields["idempotency-key"] else { return try await create(.random()) }
    guard (1...255).contains(key.utf8.count) else {
      throw Refusal(
        Problem(.badValue, "The Idempotency-Key has \(key.utf8.count) bytes, not 1 to 255."))
    }
    let digest = SHA256Text.of(Array("POST \(path) \(key)".utf8))
    let claim = try await store.claimRequest(
      digest, fingerprint: SHA256Text.of(request.body), trip: .random())
    switch claim {
    case .completed(_, let reply):
      let name = (try? JSONValue.parse(reply))?[member]?.string ?? ""
      return .json(status, reply, ["location": "\(path)/\(name)"])
    case .differentBody:
      throw ProblemError(
        ProblemDocument(
          .idempotencyKeyReused,
          "This key came before with another body. Use a new key for a new request."))
    case .inProgress(let left):
      throw ProblemError(
        ProblemDocument(
          .requestInProgress,
          "A request with this Idempotency-Key is not finished yet. Ask again.",
          retryAfter: max(1, min(Int(left.components.seconds), 2))))
    case .proceed(let proposed, _):
      do {
        let response = try await create(proposed)
        try await store.completeRequest(digest, reply: response.body)
        return response
      } catch {
        try? await store.abandonRequest(digest)
        throw error
      }
    }
  }

  private func create(_ request: HTTPRequest, as trip: TripID) async throws -> HTTPResponse {
    let now = clock.wall
    let wanted = try CreateTripRequest.read(
      try parse(request.body), types: settings.activityTypes, trip: trip, now: now)
    let app = try app(of: wanted)
    var life = TripLife(times: wanted.times)
    let actions = life.created(at: now)
    let definition = TripDefinition(
      app: app, typeName: wanted.type.name, name: wanted.name,
      notebook: wanted.notebook, attributes: wanted.attributes.bytes,
      storagePolicy: wanted.type.storage)
    let new = NewTrip(
      id: trip, definition: definition, contentState: wanted.state.bytes,
      mapperMemory: MapperMemory().written(), life: life, actions: actions)
    _ = try await store.createTrip(new, at: now)
    try await scheduleStartAlert(of: trip, wanted, now: now)
    await news.changed(trip)
    let problem = try await openChannel(of: trip, definition: definition)
    let document = TripDocument(
      record: try await record(of: trip), types: typesByName,
      warnings: wanted.warnings + (problem.map { [$0] } ?? []))
    return .json(201, document.written(), ["location": "/v1/trips/\(trip.text)"])
  }

  private func app(of wanted: CreateTripRequest) throws(Refusal) -> AppID {
    let fitting = settings.apps.filter {
      (wanted.bundleID == nil || $0.bundleID == wanted.bundleID)
        && (wanted.environment == nil
          || $0.environment.rawValue == wanted.environment?.rawValue)
    }
    guard let app = fitting.first else {
      throw Refusal(
        Problem(
          .badValue, at: "/bundleID",
          "No app of that bundle ID and environment is configured here. Configured: "
            + settings.apps.map { "\($0)" }.joined(separator: ", ") + "."))
    }
    return app
  }

  /// How long a caller waits for the channel of a new trip, in real time: APNs answers within a
  /// second, or has trouble. The trip is there then, and gets its channel later.
  private static var patienceForChannel: Duration { .seconds(3) }

  /// - Returns: a sentence when there is no channel for now.
  private func openChannel(of trip: TripID, definition: TripDefinition) async throws -> String? {
    var life = try await record(of: trip).life
    while life.channel == .opening {
      let event: TripEvent
      var warning: String?
      switch await channels.open(
        for: trip, definition: definition, patience: Self.patienceForChannel)
      {
      case .opened(let channel): event = .channelOpened(channel)
      case .unavailable(let reason):
        event = .channelUnavailable
        warning = "\(reason) The trip's members are reached by token."
      case .failed(let reason):
        return "The trip has no channel yet, and gets one as soon as that is possible: \(reason)"
      }
      var next = life
      let actions = next.handle(event, at: clock.wall, rules: settings.rules)
      let change = LifeChange(of: trip, from: life, to: next, actions: actions)
      switch try await store.changeLife(of: trip, change, at: clock.wall) {
      case .changed:
        await news.changed(trip)
        return warning
      case .conflict(let current): life = current
      case .unknownTrip: throw ProblemError(.unknownTrip(trip.text))
      }
    }
    return nil
  }

  // MARK: GET /v1/trips and /v1/trips/{trip}

  func readTrip(_ text: String) async -> HTTPResponse {
    await answering {
      let record = try await record(of: try tripID(text))
      return .json(
        200, TripDocument(record: record, types: typesByName).written(),
        ["etag": "\"\(record.revision)\""])
    }
  }

  /// A page of all trips: `?limit=` 1 to 200 (50), `?cursor=` as the page before gave it.
  func listTrips(cursor: String?, limit: String?) async -> HTTPResponse {
    await answering {
      let limit = try readLimit(limit)
      var place: TripCursor?
      if let cursor {
        guard let known = TripCursor(cursor) else {
          throw Refusal(
            Problem(
              .badValue, "The cursor is none that this service gave. Leave it out to begin anew."))
        }
        place = known
      }
      let page = try await store.listTrips(after: place, limit: limit)
      let records = await store.trips(page.trips)
      var documents: [TripDocument] = []
      for record in records {
        // One that was forgotten since the page was read is left out.
        guard let record = try record.get() else { continue }
        documents.append(TripDocument(record: record, types: typesByName))
      }
      var writer = JSONWriter(reservingCapacity: 4_096)
      writer.object {
        $0.key("trips")
        $0.array { list in
          for document in documents { list.object { document.write(to: &$0) } }
        }
        if let next = page.next { $0.member("next", "\(next)") }
      }
      return .json(200, writer.finish())
    }
  }

  private func readLimit(_ text: String?) throws(Refusal) -> Int {
    guard let text else { return 50 }
    guard let limit = Int(text), (1...200).contains(limit) else {
      throw Refusal(Problem(.badValue, "\"limit\" is 1 to 200, not \(text.prefix(20))."))
    }
    return limit
  }
}
