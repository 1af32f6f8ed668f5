/// One broadcast that was begun and has no answer yet.
struct Flight: Sendable, Equatable {
  let id: ChannelPublisher.RequestID
  let rank: SendRank
  /// It carries a refresh that was asked for, not only what waits.
  var isRefresh = false
  /// The changes that it took along; none at priority 5.
  var backlog = Backlog()
  /// The revision that it carries; nil at priority 5, which covers nothing.
  var revision: Revision?
}

/// The requests in flight: one, or two where a significant change overtook.
struct Flights: Sendable, Equatable {
  private var first: Flight?
  private var second: Flight?

  var isEmpty: Bool { first == nil && second == nil }
  var hasRoom: Bool { first == nil || second == nil }
  var count: Int { (first == nil ? 0 : 1) + (second == nil ? 0 : 1) }
  var hasEnd: Bool { first?.rank == .end || second?.rank == .end }

  var newestRevision: Revision? {
    [first?.revision, second?.revision].compactMap { $0 }.max()
  }

  func newestRevision(besides id: ChannelPublisher.RequestID) -> Revision? {
    [first, second].compactMap { $0?.id == id ? nil : $0?.revision }.max()
  }

  subscript(id: ChannelPublisher.RequestID) -> Flight? {
    first?.id == id ? first : second?.id == id ? second : nil
  }

  mutating func add(_ flight: Flight) {
    precondition(hasRoom, "a channel has two requests in flight at most")
    if first == nil { first = flight } else { second = flight }
  }

  /// - Returns: nil if there is none with this ID: it was answered before.
  mutating func remove(_ id: ChannelPublisher.RequestID) -> Flight? {
    if let flight = first, flight.id == id {
      first = second
      second = nil
      return flight
    }
    guard let flight = second, flight.id == id else { return nil }
    second = nil
    return flight
  }

  /// - Returns: false if the request is not in flight or is one of priority 5.
  mutating func setRevision(_ revision: Revision, of id: ChannelPublisher.RequestID) -> Bool {
    update(id) { $0.revision = revision }
  }

  mutating func merge(_ backlog: Backlog, into id: ChannelPublisher.RequestID) {
    _ = update(id) { $0.backlog.merge(backlog) }
  }

  /// Hands changes to the request that carries the newest revision, so that they wait again should
  /// it fail too.
  mutating func adopt(_ backlog: Backlog) {
    guard let carrier = first?.revision == newestRevision ? first : second else { return }
    merge(backlog, into: carrier.id)
  }

  private mutating func update(
    _ id: ChannelPublisher.RequestID, _ change: (inout Flight) -> Void
  ) -> Bool {
    if first?.id == id, first?.rank != .tail {
      change(&first!)
      return true
    }
    if second?.id == id, second?.rank != .tail {
      change(&second!)
      return true
    }
    return false
  }
}
