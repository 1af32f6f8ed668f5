internal import Clocks
internal import FieldTrips
internal import Transport
internal import TripStore

/// What is done at regular times, on the node that owns the first partition.
extension ServiceParts {
  /// Whether it is for this node to do what only one does.
  var ownsFirstPartition: Bool {
    get async { await owner.ownerships.contains { $0.partition.number == 0 } }
  }

  /// Forgets people and tokens that were not named for three months, once a day of service time,
  /// however often nodes are restarted meanwhile.
  func forgetPeopleRegularly() async {
    // The first look is soon, since a service may be restarted every day; and not at the very start,
    // when all nodes have other things to do.
    var pause = Duration.seconds(Int64.random(in: 30...90))
    while (try? await loop.sleep(for: clock.real(pause))) != nil {
      pause = .seconds(3_600)
      guard await ownsFirstPartition else { continue }
      do throws(StoreError) {
        let now = clock.wall
        if let last = try await store.lastRun(of: Self.forgetting), last <= now,
          now < last + .seconds(86_400)
        {
          continue
        }
        let count = try await store.forgetPeople(unseenSince: Person.day(of: now) - 90)
        try await store.noteRun(of: Self.forgetting, at: now)
        if count > 0 {
          log.info(
            "forgot people or tokens of theirs that no app named for 90 days",
            ["people": "\(count)"])
        }
      } catch {
        log.warning("people cannot be looked through now", ["reason": "\(error)"])
      }
    }
  }

  private static let forgetting = "forget-people"
}
