internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// A member of a trip as JSON. Tokens are counted, never written.
struct MemberDocument {
  let trip: TripRecord
  let member: MemberID
  let reach: Reach
  let known: TripMember
  let person: Person
  let app: TokenApp
  /// The environments of the app that pushes can be sent to from here.
  let served: Set<AppID.Environment>
  /// The phone is another member's too, and shows that one's card.
  var deviceShowsAnother = false
  let now: UnixTime

  var starts: [RegisteredToken] { person.tokens.usable(.pushToStart, of: app) }

  func written() -> [UInt8] {
    var writer = JSONWriter(reservingCapacity: 512)
    writer.object {
      $0.member("trip", trip.id.text)
      $0.member("member", member.text)
      $0.member("reach", presentReach.rawValue)
      if let system = known.osVersion { $0.member("osVersion", "\(system)") }
      $0.key("card")
      $0.object(writeCard)
      $0.key("tokens")
      $0.object {
        $0.member("cards", known.tokens.cards.count)
        $0.member("starts", starts.count)
        $0.member("devices", person.tokens.usable(.device, of: app).count)
        let all = known.tokens.tokens + person.tokens.tokens.filter { $0.belongs(to: app) }
        // Those that are held as well: they wait for their app just so.
        $0.member("quarantined", all.count { !$0.isUsable })
        $0.member("unserved", all.count { !served.contains($0.environment) })
      }
    }
    return writer.finish()
  }

  /// Cards whose tokens are of an environment that is not configured any more are not reached.
  private var presentReach: Reach {
    let isServed = known.tokens.cards.contains { served.contains($0.environment) }
    return reach == .updateToken && !isServed ? .none : reach
  }

  private func writeCard(_ writer: inout JSONWriter) {
    switch known.card.state {
    case .none: writer.member("state", "none")
    case .dismissed: writer.member("state", "dismissed")
    case .closed: writer.member("state", "closed")
    case .asked(let since, _):
      let isLate = now >= since + StartRound.rules.confirmation
      write(isLate ? "unconfirmed" : "starting", since, &writer)
    case .running(let since): write("running", since, &writer)
    }
    guard known.hasStartToken, trip.life.mayPublishUpdate else { return }
    switch known.card.verdict(at: now, until: trip.life.times.endsAt, rules: StartRound.rules) {
    case .start:
      let next = person.starts.nextStart(at: now, rules: StartRound.rules)
      if next > now {
        write(.budgetSpent, until: next, &writer)
      } else if deviceShowsAnother {
        write(.sharedDevice, until: nil, &writer)
      }
    case .wait(let time, let obstacle): write(obstacle, until: time, &writer)
    case .never(let obstacle): write(obstacle, until: nil, &writer)
    }
  }

  private func write(_ state: String, _ since: UnixTime, _ writer: inout JSONWriter) {
    let isOver = now >= since + LiveActivityLimits.activeLife
    writer.member("state", isOver ? "over" : state)
    writer.member("since", DateText.format(since))
  }

  /// Why no card is started now, and when one may be.
  private func write(_ obstacle: StartObstacle, until time: UnixTime?, _ writer: inout JSONWriter) {
    writer.member("notStarted", obstacle.rawValue)
    if let time { writer.member("nextStart", DateText.format(time)) }
  }
}
