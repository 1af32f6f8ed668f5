import Clocks
import FieldTrips

/// A channel's whole world on a virtual clock: a store, an APNs that answers late, wrongly or not
/// at all, an owner that crashes, and a wall clock that is set. A seed repeats it exactly.
struct PublisherWorld {
  /// How often things go wrong. Some runs switch a fault off wholly, others overdo it.
  struct Faults {
    /// Outcomes beside `accepted`, with their shares.
    var outcomes: [(BroadcastOutcome, Double)] = []
    /// Longest time that an answer takes, seconds.
    var latency = 0.0
    /// Longest time that the store takes to read what a broadcast shall carry, seconds.
    var reading = 0.0
    /// Share of broadcasts around which the owner crashes.
    var crashes = 0.0
    /// Share of changes at which the wall clock is set by up to this many seconds either way.
    var clockJumps = 0.0
    var jumpSeconds = 0.0
    /// Share of changes that are significant.
    var significant = 0.05
  }

  struct Request: Equatable {
    let at: Moment
    let wallSeconds: Int64
    let timestamp: Int64
    let rank: SendRank
    /// The newest when it was sent.
    let revision: Int64
    var outcome: BroadcastOutcome
    let levelAfter: Double
    let inFlightBefore: Int
    let refillInterval: Duration
  }

  /// A change, and what the bucket was like at that moment.
  struct Change {
    let at: Moment
    let revision: Int64
    let isSignificant: Bool
    let level: Double
    /// Whether nothing but the budget stood in a significant change's way.
    let isUnhindered: Bool
  }

  private enum Event {
    case read(ChannelPublisher.Reservation, life: Int)
    case answer(ChannelPublisher.RequestID, request: Int, life: Int)
    case replaceChannel
  }

  let policy: PublishingPolicy
  let faults: Faults
  private(set) var requests: [Request] = []
  private(set) var changes: [Change] = []
  private(set) var publisher: ChannelPublisher
  private(set) var now = Moment.origin
  private(set) var endedAt: Moment?
  /// What broke a rule while the world ran; empty if all is well.
  private(set) var complaints: [String] = []

  private var durable: ChannelPublisher.Durable
  private var wallOffset = Duration.zero
  private var events: [(at: Moment, event: Event)] = []
  private var inFlight: Set<ChannelPublisher.RequestID> = []
  /// The revision that each priority-10 broadcast in flight carries.
  private var carried: [ChannelPublisher.RequestID: Int64] = [:]
  /// How each of those in flight was begun: beside how many others, and what it left in the bucket.
  private var begun: [ChannelPublisher.RequestID: (beside: Int, level: Double)] = [:]
  /// When the store has answered all that it was asked.
  private var readAt = Moment.origin
  private var isCalm = false
  /// Counts owners: answers to an earlier one are lost.
  private var life = 0
  /// A new channel is sent the state at priority 5, though nothing waits.
  private var hadReplacement = false
  private var crashedAt: [Moment] = []
  private var dice: PolicyDice
  /// Of its own, so that the traffic is the same whatever is sent.
  private var traffic: PolicyDice

  init(policy: PublishingPolicy, faults: Faults, seed: UInt64) {
    self.policy = policy
    self.faults = faults
    dice = PolicyDice(seed: seed)
    traffic = PolicyDice(seed: ~seed)
    publisher = ChannelPublisher(policy: policy, at: .origin)
    durable = ChannelPublisher.Durable(
      revision: .initial, publishedRevision: .initial, lastTimestampSeconds: 0,
      anchor: PublisherBench.epoch - .seconds(86_400), ratePerHour: nil)
  }

  var wall: UnixTime { PublisherBench.epoch + (now - .origin) + wallOffset }
  var decision: ChannelPublisher.Decision { publisher.plan(at: now, wall: wall) }
  var revision: Int64 { durable.revision.number }
  var immediate: [Request] { requests.filter { $0.rank.priority == 10 } }
  var hadCrash: Bool { life > 0 }
  /// The newest that phones show, by timestamp.
  var shownRevision: Int64? {
    immediate.filter { $0.outcome == .accepted }.max { $0.timestamp < $1.timestamp }?.revision
  }

  // MARK: Running

  /// Random changes, `count` of them.
  ///
  /// - Parameter onSeconds: each in a whole second of its own.
  mutating func live(changes count: Int, meanGap: Double, onSeconds: Bool = false) {
    for _ in 0..<count {
      var gap = traffic.happens(0.15) ? 0 : traffic.gap(mean: meanGap)
      if onSeconds { gap = max(1, gap.rounded()) }
      let moment = now + .nanoseconds(Int64(gap * 1e9))
      // Changes come before a timer of the same moment.
      run(until: max(now, moment - .nanoseconds(1)))
      now = moment
      if traffic.happens(faults.clockJumps) {
        let jump = (traffic.fraction() * 2 - 1) * faults.jumpSeconds
        wallOffset = wallOffset + .nanoseconds(Int64(jump * 1e9))
      }
      change(isSignificant: traffic.happens(faults.significant))
    }
  }

  mutating func change(isSignificant: Bool) {
    let next = Revision(revision + 1)
    durable.revision = next
    changes.append(
      Change(
        at: now, revision: next.number, isSignificant: isSignificant,
        level: publisher.bucket.level(at: now),
        isUnhindered: inFlight.count < 2 && publisher.stop == nil && !isBackingOff))
    publisher.changed(to: next, at: now, isSignificant: isSignificant)
    step()
  }

  mutating func end() {
    publisher.end(giveUpAt: now + .seconds(100_000))
    endedAt = now
    step()
  }

  /// From here on APNs accepts everything at once.
  mutating func calm() { isCalm = true }

  /// Calm, until nothing is left to do.
  mutating func settle() {
    calm()
    step()
    run(until: now + .seconds(200_000))
    if case .wake = decision { complaints.append("a timer remains") }
    if !events.isEmpty || !inFlight.isEmpty { complaints.append("a request remains") }
  }

  mutating func run(until end: Moment) {
    while true {
      let timer: Moment? = if case .wake(let moment) = decision { moment } else { nil }
      let next = [timer, events.first?.at].compactMap { $0 }.min()
      guard let next, next <= end else { break }
      if next < now { complaints.append("a moment in the past at \(now.seconds)") }
      now = max(now, next)
      if let first = events.first, first.at <= now {
        events.removeFirst()
        handle(first.event)
      }
      step()
    }
    now = end
  }

  // MARK: The driver

  private mutating func step() {
    checkIdleness()
    var rounds = 0
    while case .send(let rank) = decision {
      rounds += 1
      guard rounds < 10 else { return complaints.append("sends for ever at \(now.seconds)") }
      send(rank)
    }
  }

  private mutating func send(_ rank: SendRank) {
    guard let reservation = publisher.beginSend(at: now, wall: wall), reservation.rank == rank
    else { return complaints.append("a planned send did not begin") }
    if crashes() { return restart() }
    begun[reservation.id] = (inFlight.count, publisher.bucket.level(at: now))
    inFlight.insert(reservation.id)
    if rank != .tail { carried[reservation.id] = revision }
    let delay = isCalm ? 0 : dice.fraction() * faults.reading
    // On one connection, so that none overtakes an earlier one.
    readAt = max(readAt, now + .nanoseconds(Int64(delay * 1e9)))
    schedule(.read(reservation, life: life), at: readAt)
    handleDue()
  }

  /// The store settles the timestamp, and reads the newest content-state, which goes out.
  private mutating func read(_ reservation: ChannelPublisher.Reservation) {
    if endedAt != nil, reservation.rank != .end {
      // The store knows of the end, and hands out no update any more.
      return settle(reservation.id, .notSent())
    }
    durable.lastTimestampSeconds = max(
      reservation.proposedTimestampSeconds, durable.lastTimestampSeconds + 1)
    durable.anchor = reservation.anchor
    durable.ratePerHour = reservation.ratePerHour
    if crashes() { return restart() }
    publisher.sent(
      reservation.id, revision: durable.revision, timestampSeconds: durable.lastTimestampSeconds)
    if publisher.isSuperfluous(reservation.id) {
      return settle(reservation.id, .superfluous)
    }
    if reservation.rank != .tail {
      let others = carried.filter { $0.key != reservation.id }.values
      if reservation.rank != .end, others.contains(revision) {
        complaints.append("revision \(revision) is in flight twice at \(now.seconds)")
      }
      carried[reservation.id] = revision
    }
    let start = begun[reservation.id] ?? (beside: 0, level: publisher.bucket.level(at: now))
    let outcome = draw()
    requests.append(
      Request(
        at: now, wallSeconds: wall.wholeSeconds, timestamp: durable.lastTimestampSeconds,
        rank: reservation.rank, revision: revision, outcome: outcome,
        levelAfter: start.level, inFlightBefore: start.beside,
        refillInterval: publisher.bucket.refillInterval))
    if crashes() { return restart() }
    let delay = outcome == .unknown && !isCalm ? 10 : isCalm ? 0 : dice.fraction() * faults.latency
    schedule(
      .answer(reservation.id, request: requests.count - 1, life: life),
      at: now + .nanoseconds(Int64(delay * 1e9)))
    if delay == 0 { handleDue() }
  }

  private mutating func handleDue() {
    while let first = events.first, first.at <= now {
      events.removeFirst()
      handle(first.event)
    }
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .read(let reservation, let life):
      if life == self.life { read(reservation) }
    case .answer(let id, let request, let life):
      guard life == self.life else { return }
      // What nobody knows may have been published all the same.
      settle(id, requests[request].outcome)
    case .replaceChannel:
      hadReplacement = true
      publisher.channelReplaced()
    }
  }

  private mutating func settle(_ id: ChannelPublisher.RequestID, _ outcome: BroadcastOutcome) {
    inFlight.remove(id)
    carried[id] = nil
    begun[id] = nil
    let aftermath = publisher.answered(id, outcome, at: now, using: &dice)
    if aftermath.publishedRevision < durable.publishedRevision {
      complaints.append("the published revision fell")
    }
    durable.publishedRevision = aftermath.publishedRevision
    durable.ratePerHour = aftermath.ratePerHour
    if aftermath.isChannelGone { schedule(.replaceChannel, at: now + .seconds(3)) }
  }

  /// The owner dies; another one loads what the store has.
  private mutating func restart() {
    life += 1
    inFlight = []
    carried = [:]
    begun = [:]
    if durable.lastTimestampSeconds == 0, revision > 0 {
      // Nothing was sent: members join with the first state, which is no change then.
      durable.publishedRevision = max(durable.publishedRevision, .first)
    }
    let wasStopped = publisher.stop == .channelGone
    crashedAt.append(now)
    publisher = ChannelPublisher(policy: policy, restoring: durable, at: now, wall: wall)
    if endedAt != nil { publisher.end(giveUpAt: now + .seconds(100_000)) }
    if wasStopped {
      events.removeAll { if case .replaceChannel = $0.event { true } else { false } }
    }
  }

  // MARK: Chance

  private mutating func crashes() -> Bool { !isCalm && dice.happens(faults.crashes) }

  private mutating func draw() -> BroadcastOutcome {
    guard !isCalm else { return .accepted }
    var rest = dice.fraction()
    for (outcome, share) in faults.outcomes {
      if rest < share { return outcome }
      rest -= share
    }
    return .accepted
  }

  private mutating func schedule(_ event: Event, at moment: Moment) {
    let index = events.firstIndex { $0.at > moment } ?? events.count
    events.insert((moment, event), at: index)
  }

  // MARK: Watching

  /// Whether a failure within the last minute may still hold sends back.
  private var isBackingOff: Bool {
    requests.suffix(20).contains { $0.outcome != .accepted && now - $0.at < .seconds(75) }
  }

  private mutating func checkIdleness() {
    let level = publisher.bucket.level(at: now)
    let isFree = inFlight.isEmpty && publisher.stop == nil && !isBackingOff
    let waits = !publisher.backlog.isEmpty
    if waits, isFree, level >= Double(publisher.bucket.capacity), endedAt == nil {
      switch decision {
      case .send: break
      case .wake(let moment) where moment - now <= .seconds(1): break  // this second is taken
      default: complaints.append("a full bucket and a note, but \(decision) at \(now.seconds)")
      }
    }
    if !waits, !policy.isTailOn, inFlight.isEmpty, endedAt == nil, publisher.stop == nil,
      !hadReplacement, decision != .idle
    {
      complaints.append("nothing waits, but \(decision) at \(now.seconds)")
    }
    // What waits is what no broadcast carries, in flight or accepted: no more, and no less.
    let covered = max(durable.publishedRevision.number, carried.values.max() ?? 0)
    let waiting = max(0, Int(revision - covered))
    if publisher.backlog.count != waiting {
      complaints.append("\(waiting) wait, not \(publisher.backlog.count), at \(now.seconds)")
    }
    if inFlight.count > 2 { complaints.append("\(inFlight.count) in flight at \(now.seconds)") }
  }
}

extension PublisherWorld.Faults {
  /// Everything at once, in shares that the seed chooses; each fault is off in a third of the runs.
  static func random(seed: UInt64) -> PublisherWorld.Faults {
    var dice = PolicyDice(seed: seed &* 31 &+ 7)
    var faults = PublisherWorld.Faults()
    func share(_ most: Double) -> Double { dice.happens(1 / 3.0) ? 0 : dice.fraction() * most }
    faults.outcomes = [
      (.throttled(), share(0.3)), (.throttled(retryAfter: .seconds(20)), share(0.05)),
      (.providerTokenThrottled(), share(0.05)), (.notSent(), share(0.2)),
      (.notReserved, share(0.05)), (.unknown, share(0.15)),
      (.unavailable(), share(0.1)), (.serverError(retryAfter: .seconds(5)), share(0.1)),
      (.channelGone, share(0.02)), (.refused, share(0.02)),
    ]
    faults.latency = share(8)
    faults.reading = share(3)
    faults.crashes = share(0.08)
    faults.significant = share(0.2)
    return faults
  }
}
