package import Clocks

/// Many phones of one kind that started the same activity on one channel at the same time.
///
/// A phone of a crowd costs nothing until it differs from the others: what each one sees follows
/// from the channel's broadcasts and from each broadcast's fate at that phone, which is drawn from
/// the seed again whenever somebody asks. Now and then the past is folded into one state: one for
/// all where all are alike, else one of some eighty bytes for each phone.
package struct PhoneCrowd: Sendable {
  /// A phone's card, and its budget for updates.
  struct Member: Sendable, Equatable {
    var activity: LiveActivity
    var budget = TokenBucket()
  }

  private enum Members: Sendable {
    case alike(Member)
    case apart([Member])
  }

  /// Phones are numbered; these have the numbers from here on.
  package let firstPhone: Int
  package let count: Int
  package let startedAt: UnixTime
  let traits: ActivityTraits
  /// The stored message that they got when they subscribed.
  private let welcome: ActivityPush?
  private var members: Members
  private let start: LiveActivity
  /// Arrivals up to here are part of `members`.
  private(set) var foldedUntil: UnixTime
  /// Outcomes of what was folded, over all phones.
  private(set) var outcomes = OutcomeCounts()

  init(
    firstPhone: Int, count: Int, activity: LiveActivity, traits: ActivityTraits,
    welcome: ActivityPush?
  ) {
    precondition(count > 0, "a crowd has phones")
    self.firstPhone = firstPhone
    self.count = count
    self.traits = traits
    self.welcome = welcome
    startedAt = activity.startedAt
    start = activity
    foldedUntil = activity.startedAt - .nanoseconds(1)
    members = .alike(Member(activity: activity))
  }

  /// The same phones before anything reached them.
  func asStarted() -> PhoneCrowd {
    PhoneCrowd(
      firstPhone: firstPhone, count: count, activity: start, traits: traits, welcome: welcome)
  }

  func contains(_ phone: Int) -> Bool { phone >= firstPhone && phone < firstPhone + count }
}

/// How pushes fare on their way, and what a crowd must know of it.
struct DeliveryContext: Sendable {
  var model: DeliveryModel
  var rules: PhoneRules
  var seed: UInt64
}

/// Called for each push that reached a phone, in the order of arrival.
typealias ArrivalWitness = (ActivityPush, UnixTime, PushOutcome) -> Void

extension PhoneCrowd {
  /// What one phone shows at `now`.
  ///
  /// - Parameter inFlight: the channel's broadcasts that are not wholly folded.
  func member(
    _ phone: Int, at now: UnixTime, inFlight: [ActivityPush], _ context: DeliveryContext,
    witness: ArrivalWitness = { _, _, _ in }
  ) -> Member {
    precondition(contains(phone), "phone \(phone) is not of this crowd")
    var member = base(phone)
    var scratch: [Arrival] = []
    let after = foldedUntil
    advance(
      &member, phone, after: after, until: now, inFlight, context, &scratch, witness: witness)
    return member
  }

  /// Visits what every phone shows; where all are alike, once with their number.
  func forEachMember(
    at now: UnixTime, inFlight: [ActivityPush], _ context: DeliveryContext,
    _ body: (_ member: Member, _ phones: Int) -> Void
  ) {
    if case .alike(var member) = members,
      context.model.isSameForAll || !isAnythingUnderWay(at: now, inFlight, context.model)
    {
      var scratch: [Arrival] = []
      advance(
        &member, firstPhone, after: foldedUntil, until: now, inFlight, context, &scratch,
        witness: { _, _, _ in })
      body(member, count)
      return
    }
    var scratch: [Arrival] = []
    for phone in firstPhone..<(firstPhone + count) {
      var member = base(phone)
      advance(
        &member, phone, after: foldedUntil, until: now, inFlight, context, &scratch,
        witness: { _, _, _ in })
      body(member, 1)
    }
  }

  /// Whether some phone may get something between the last folding and `now`.
  private func isAnythingUnderWay(
    at now: UnixTime, _ inFlight: [ActivityPush], _ model: DeliveryModel
  ) -> Bool {
    if welcome != nil, startedAt + model.longestDelay > foldedUntil { return true }
    return inFlight.contains {
      $0.acceptedAt >= startedAt && $0.acceptedAt + model.longestDelay > foldedUntil
        && $0.acceptedAt + model.latencyLow <= now
    }
  }

  /// Takes what has arrived into the stored states for good.
  ///
  /// - Parameter now: everything up to here is taken; or, where that keeps all phones alike, a
  ///   little less, so that no push has arrived at some of them only.
  mutating func fold(until now: UnixTime, inFlight: [ActivityPush], _ context: DeliveryContext) {
    var now = now
    var staysAlike = context.model.isSameForAll
    if !staysAlike, let common = commonTime(before: now, inFlight, context.model) {
      now = common
      staysAlike = true
    }
    guard now > foldedUntil else { return }
    var scratch: [Arrival] = []
    var counts = OutcomeCounts()
    if case .alike(var member) = members, staysAlike {
      let weight = count
      advance(
        &member, firstPhone, after: foldedUntil, until: now, inFlight, context, &scratch
      ) { _, _, outcome in counts.add(outcome, weight) }
      members = .alike(member)
    } else {
      foldApart(until: now, inFlight, context, &scratch, &counts)
    }
    outcomes.add(counts)
    foldedUntil = now
  }

  /// The latest time not after `now` at which every push has arrived either everywhere or nowhere,
  /// and all in one order. Nil where pushes overtake each other or get lost.
  private func commonTime(
    before now: UnixTime, _ inFlight: [ActivityPush], _ model: DeliveryModel
  ) -> UnixTime? {
    guard model.isPureLatency else { return nil }
    var common = now
    /// When the push before has arrived everywhere; nil where nobody waits for one.
    var earlierArrived: UnixTime?
    if welcome != nil, startedAt + model.latencyHigh > foldedUntil {
      let last = startedAt + model.latencyHigh
      if last > now { return startedAt + model.latencyLow - .nanoseconds(1) }
      earlierArrived = last
    }
    for push in inFlight where push.acceptedAt >= startedAt {
      let first = push.acceptedAt + model.latencyLow
      let last = push.acceptedAt + model.latencyHigh
      if last <= foldedUntil { continue }
      if let earlierArrived, first <= earlierArrived { return nil }
      if last > now {
        common = min(now, first - .nanoseconds(1))
        break
      }
      earlierArrived = last
    }
    return common
  }

  private mutating func foldApart(
    until now: UnixTime, _ inFlight: [ActivityPush], _ context: DeliveryContext,
    _ scratch: inout [Arrival], _ counts: inout OutcomeCounts
  ) {
    var all: [Member]
    switch members {
    case .alike(let member): all = Array(repeating: member, count: count)
    case .apart(let array): all = array
    }
    // Parked while it is changed, or every change would copy the whole array.
    members = .apart([])
    for index in all.indices {
      advance(
        &all[index], firstPhone + index, after: foldedUntil, until: now, inFlight, context,
        &scratch
      ) { _, _, outcome in counts.add(outcome, 1) }
    }
    if let first = all.first, all.allSatisfy({ $0 == first }) {
      members = .alike(first)
    } else {
      members = .apart(all)
    }
  }

  private func base(_ phone: Int) -> Member {
    switch members {
    case .alike(let member): member
    case .apart(let all): all[phone - firstPhone]
    }
  }

  private struct Arrival {
    var at: UnixTime
    /// What the phone's own reckoning is dated with.
    var stamp: UnixTime
    var push: ActivityPush
  }

  private func advance(
    _ member: inout Member, _ phone: Int, after: UnixTime, until now: UnixTime,
    _ inFlight: [ActivityPush], _ context: DeliveryContext, _ scratch: inout [Arrival],
    witness: ArrivalWitness
  ) {
    scratch.removeAll(keepingCapacity: true)
    if let welcome, startedAt + context.model.longestDelay > after {
      collect(welcome, startedAt, phone, after: after, until: now, context, &scratch)
    }
    for push in inFlight where push.acceptedAt >= startedAt {
      collect(push, push.acceptedAt, phone, after: after, until: now, context, &scratch)
    }
    if scratch.count > 1 {
      scratch.sort { ($0.at, $0.push.number) < ($1.at, $1.push.number) }
    }
    for arrival in scratch {
      let outcome = member.activity.receive(
        arrival.push, at: arrival.stamp, traits, context.rules, budget: &member.budget)
      witness(arrival.push, arrival.at, outcome)
    }
  }

  private func collect(
    _ push: ActivityPush, _ departure: UnixTime, _ phone: Int, after: UnixTime,
    until now: UnixTime, _ context: DeliveryContext, _ scratch: inout [Arrival]
  ) {
    let arrivals = context.model.arrivals(
      of: push.number, priority: push.priority, at: UInt64(phone), departure: departure,
      seed: context.seed)
    let common = context.model.isPureLatency ? departure + context.model.latencyLow : nil
    if let first = arrivals.first, first > after, first <= now {
      scratch.append(Arrival(at: first, stamp: common ?? first, push: push))
    }
    if let second = arrivals.second, second > after, second <= now {
      scratch.append(Arrival(at: second, stamp: common ?? second, push: push))
    }
  }
}

/// How often pushes had each outcome.
package struct OutcomeCounts: Sendable, Equatable {
  private var counts: [PushOutcome: Int] = [:]

  package subscript(outcome: PushOutcome) -> Int { counts[outcome] ?? 0 }

  /// By the names of outcomes, in alphabetical order.
  package var byName: [(name: String, count: Int)] {
    counts.map { (name: $0.key.name, count: $0.value) }.sorted { $0.name < $1.name }
  }

  mutating func add(_ outcome: PushOutcome, _ times: Int) {
    counts[outcome, default: 0] += times
  }

  mutating func add(_ other: OutcomeCounts) {
    counts.merge(other.counts) { $0 + $1 }
  }
}
