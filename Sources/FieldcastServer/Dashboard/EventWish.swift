internal import FieldTrips
internal import HTTP

/// What a listener of `GET /v1/events` wants to hear of.
struct EventWish: Sendable, Hashable {
  /// Parts of a service that can be watched, each with an event of its name.
  enum Part: String, CaseIterable, Sendable {
    case trips, trip, channels, nodes, health, deadLetters

    /// Who may watch it.
    var scope: AccessScope {
      switch self {
      case .trips, .trip: .trips
      case .channels, .nodes, .health, .deadLetters: .admin
      }
    }
  }

  /// Which trips a list shows.
  enum Selection: String, CaseIterable, Sendable {
    case all, live, scheduled, ended

    /// - Parameter phase: nil of a trip that cannot be read.
    func includes(_ phase: TripPhase?) -> Bool {
      switch (self, phase) {
      case (.all, _), (.live, .live), (.live, .ending), (.scheduled, .scheduled), (.ended, .ended):
        true
      default: false
      }
    }
  }

  var parts: Set<Part> = []
  /// Those of its parts that its token does not allow.
  var refused: Set<Part> = []
  var trip: TripID?
  var filter = TripFilter()
  /// How many trips the list shows, 1 to 200.
  var limit = 50

  /// Reads a query: `?show=trips,channels&trip=…&phase=live&search=…&limit=100`. Without `show` it is
  /// all, and the one trip if there is one.
  ///
  /// - Parameter scopes: what the caller may watch.
  init(_ query: QueryItems, scopes: Set<AccessScope>) throws(Refusal) {
    var wanted = Set(Part.allCases)
    if let list = query["show"] {
      wanted = []
      for word in list.split(separator: ",") {
        guard let part = Part(rawValue: String(word)) else {
          throw Self.refusal("show", word, Part.allCases.map(\.rawValue))
        }
        wanted.insert(part)
      }
    }
    if let text = query["trip"] {
      do throws(IdentifierError) { trip = try TripID(text) } catch {
        throw Refusal(Problem(.badIdentifier, at: "/trip", error.message))
      }
      wanted.insert(.trip)
    } else {
      wanted.remove(.trip)
    }
    if let phase = query["phase"] {
      guard let selection = Selection(rawValue: phase) else {
        throw Self.refusal("phase", phase[...], Selection.allCases.map(\.rawValue))
      }
      filter.selection = selection
    }
    filter.search = Array((query["search"] ?? "").prefix(100).lowercased().utf8)
    if let text = query["limit"] {
      guard let limit = Int(text), (1...200).contains(limit) else {
        throw Refusal(Problem(.badValue, "\"limit\" is 1 to 200, not \(text.prefix(20))."))
      }
      self.limit = limit
    }
    parts = wanted.filter { scopes.contains($0.scope) }
    refused = wanted.subtracting(parts)
  }

  private static func refusal(
    _ name: String, _ word: Substring, _ known: [String]
  ) -> Refusal {
    Refusal(
      Problem(
        .badValue,
        "\"\(name)\" knows \(known.joined(separator: ", ")), not \(word.prefix(40))."))
  }
}
