import Clocks
import FieldTrips
import JSON
import Redis

@testable import TripStore

/// Watches what goes to Redis, to APNs and to phones, and notes what breaks a rule of the design.
final class Rules {
  /// A timestamp that the store gave out, and what went with it.
  private struct Reservation {
    let trip: TripID
    let isEnd: Bool
    let contentState: Bytes
    /// When the node asked for it.
    let at: Moment
    var wasSent = false
  }

  private struct Watched {
    var lastTimestamp: Int64 = 0
    var endTimestamp: Int64?
    /// When the accepted broadcasts of priority 10 were begun, ends aside.
    var spent: [Moment] = []
    var lastCount: Int64 = 0
  }

  unowned let world: World
  private(set) var history = History()
  private(set) var violations: [String] = []
  /// Whether Redis has lost acknowledged writes: some rules promise less then.
  private(set) var hasLostWrites = false
  private var reservations: [String: [Int64: Reservation]] = [:]
  private var trips: [TripID: Watched] = [:]

  init(in world: World) { self.world = world }

  func violated(_ rule: String, _ text: String) {
    guard violations.count < 5 else { return }
    violations.append("\(rule): \(text)")
    world.trace.note(world, "RULE", mark: 99, "\(rule): \(text)")
  }

  // MARK: Redis

  func redisDid(
    _ call: ModelCall, _ reply: RESPValue, _ model: ModelRedis, submittedAt: Moment
  ) {
    switch call.script {
    case "append": appended(call, reply)
    case "reserve": reserved(call, reply, submittedAt)
    default: break
    }
  }

  private func appended(_ call: ModelCall, _ reply: RESPValue) {
    guard case .array(let answers) = reply else { return }
    let tripCount = (call.keys.count - 2) / 2
    for (index, answer) in answers.dropFirst().enumerated() {
      guard case .bulk = answer else { continue }
      let base = 4 + tripCount + index * 5
      guard let trip = try? TripID(call.text(3 + Int(call.number(base)))),
        let kind = LogEntry.Kind(rawValue: call.text(base + 1))
      else { continue }
      let entry = History.Entry(
        trip: trip, kind: kind, id: call.text(base + 2), body: call.arguments[base + 3],
        acceptedAt: UnixTime(milliseconds: call.number(0)))
      if !history.add(entry) {
        violated("exactly once", "the trigger \(entry.id) was taken in twice")
      }
    }
  }

  private func reserved(_ call: ModelCall, _ reply: RESPValue, _ submittedAt: Moment) {
    guard case .array(let parts) = reply, parts.count == 5, parts[0] == .integer(1),
      case .integer(let timestamp) = parts[1], case .bulk(let state) = parts[3],
      case .bulk(let words) = parts[4],
      let life = TripLife(text: String(decoding: words, as: UTF8.self)),
      let trip = try? TripID(call.keys[1].split(separator: ":").last ?? "")
    else { return }
    let isEnd = call.text(1) == "ending"
    let watched = trips[trip] ?? Watched()
    if timestamp <= watched.lastTimestamp, !hasLostWrites {
      violated("timestamps", "\(timestamp) was reserved after \(watched.lastTimestamp)")
    }
    trips[trip, default: Watched()].lastTimestamp = max(timestamp, watched.lastTimestamp)
    guard let channel = life.channel.openID?.text else { return }
    reservations[channel, default: [:]][timestamp] = Reservation(
      trip: trip, isEnd: isEnd, contentState: state, at: submittedAt)
  }

  /// Redis is what it was a little before.
  func lostWrites(goingBackTo history: History) {
    self.history = history
    hasLostWrites = true
    // Timestamps that it forgot it may give out again; the seconds have passed meanwhile.
    for trip in trips.keys { trips[trip]?.lastCount = 0 }
  }

  // MARK: APNs

  func nodeSent(_ message: Message) {
    let timestamp = message.timestampSeconds
    guard let reservation = reservations[message.channel]?[timestamp] else {
      return violated("timestamps", "\(timestamp) was sent and never reserved")
    }
    if reservation.wasSent, !hasLostWrites {
      violated("no replaced state", "\(timestamp) was sent twice on \(message.channel)")
    }
    reservations[message.channel]?[timestamp]?.wasSent = true
    if message.contentState != reservation.contentState || message.isEnd != reservation.isEnd {
      violated("no replaced state", "what was sent at \(timestamp) is not what was reserved")
    }
    let end = trips[reservation.trip]?.endTimestamp
    if !message.isEnd, let end, timestamp > end, !hasLostWrites {
      violated("nothing after the end", "an update of \(timestamp) follows the end of \(end)")
    }
    if message.isEnd {
      trips[reservation.trip]?.endTimestamp = min(end ?? timestamp, timestamp)
    }
  }

  func apnsAccepted(_ message: Message) {
    guard message.priority == 10, !message.isEnd,
      let reservation = reservations[message.channel]?[message.timestampSeconds]
    else { return }
    trips[reservation.trip]?.spent.append(reservation.at)
  }

  /// The most that a bucket allows in any stretch of time, held against what was accepted.
  func checkBudgets(_ policy: PublishingPolicy) {
    let most = Double(policy.burst ?? 2) + Double(policy.overdraft)
    let perSecond = policy.budgetPerHour / 3_600
    for (trip, watched) in trips.sorted(by: { $0.key < $1.key }) {
      let spent = watched.spent.sorted()
      for (first, start) in spent.enumerated() {
        for last in first..<spent.count {
          let seconds = (spent[last] - start).inSeconds
          let count = last - first + 1
          if Double(count) > most + seconds * perSecond {
            return violated(
              "budget", "\(count) broadcasts of \(TraceText.of(trip)) in \(seconds) s")
          }
        }
      }
    }
  }

  // MARK: Phones

  /// It begins with the state of the join reply, which may be ahead of what is under way to APNs.
  func phoneJoined(_ trip: TripID) { trips[trip, default: Watched()].lastCount = 0 }

  func phoneShows(_ phone: Phone, of trip: TripID) {
    guard let object = try? JSONValue.parse(phone.contentState),
      let count = object["notesCaptured"]?.int64
    else { return violated("convergence", "a phone shows no state: \(phone.contentState)") }
    let last = trips[trip]?.lastCount ?? 0
    if count < last, !hasLostWrites {
      violated("convergence", "a phone of \(TraceText.of(trip)) went from \(last) to \(count)")
    }
    trips[trip, default: Watched()].lastCount = count
  }

  func lateNews(_ message: Message, of trip: TripID) {
    guard !message.isEnd, !hasLostWrites else { return }
    violated("nothing after the end", "an update of \(message.timestampSeconds) came after the end")
  }
}
