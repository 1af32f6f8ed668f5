internal import Clocks
internal import FieldTrips
internal import TripStore

/// What a batch of one partition's log makes of the trips that it touches, worked out in memory and
/// adopted only when it is committed.
struct LogBatch {
  /// One trip as it will be.
  struct Draft {
    let trip: OwnedTrip
    /// The life that `life` was made from, and that the store must still have.
    var from: TripLife
    var card: Card
    var revision: Revision
    var life: TripLife
    /// What the batch asks of the trip's life, to be asked again if that changed meanwhile.
    var events: [TripEvent] = []
    var actions: [TripAction] = []
    var isSignificant = false
    var alert: AlertText?
    /// For the timeline.
    var triggers = TriggerNotes()
    /// Members of whom the log has news: new tokens.
    var members: [MemberID] = []
    /// The life in the store may be another than ours: it must be read again afterwards.
    var mustReload = false

    init(_ trip: OwnedTrip) {
      self.trip = trip
      card = trip.card
      revision = trip.revision
      from = trip.life
      life = trip.life
    }
  }

  let holding: Holding
  let now: UnixTime
  let rules: TripRules
  private let from: LogID
  private let to: LogID
  private(set) var drafts: [TripID: Draft] = [:]
  /// The trips of the drafts, in the order in which the log came to them.
  private(set) var trips: [TripID] = []
  /// What could not be applied.
  private(set) var dead: [DeadLetter] = []
  /// These are among the dead letters of the store.
  var isBuried = false
  private(set) var applied = 0
  /// The earliest time of a notification that the log has news of.
  private(set) var pushDue: UnixTime?

  /// - Parameter to: the last entry of the batch.
  init(of holding: Holding, to: LogID, now: UnixTime, rules: TripRules) {
    self.holding = holding
    self.to = to
    self.now = now
    self.rules = rules
    from = holding.cursor
  }

  /// Works in an entry; its trip is in memory, if there is such a trip and it can be read.
  mutating func add(_ entry: LogEntry) {
    if entry.kind == .push {
      let due = Int64(entry.id).map(UnixTime.init(milliseconds:)) ?? now
      pushDue = min(pushDue ?? due, due)
      return
    }
    guard let trip = holding.trips[entry.trip] else {
      guard entry.kind.isTrigger else { return }
      let problem =
        holding.unserved[entry.trip].map {
          Problem($0.code, "The stored trip \(entry.trip) cannot be read: \($0.message)")
        } ?? Problem(.unknownTrip, "The trip \(entry.trip) is gone.")
      return pass(entry, because: problem)
    }
    switch entry.kind {
    case .created, .life, .member:
      var draft = takeDraft(of: trip)
      draft.mustReload = true
      if entry.kind == .member, let member = try? MemberID(entry.id) {
        draft.members.append(member)
      }
      drafts[trip.id] = draft
    case .note, .state, .phase, .end:
      apply(entry, to: trip)
    case .push: break  // of no trip, and noted already
    }
  }

  /// What nobody can work off must not stand in the way.
  private mutating func pass(_ entry: LogEntry, because problem: Problem) {
    dead.append(
      DeadLetter(
        reason: problem.code.rawValue, message: problem.message, door: "log",
        excerpt: entry.body, at: now))
  }

  private mutating func apply(_ entry: LogEntry, to trip: OwnedTrip) {
    let trigger: Trigger
    do throws(Refusal) {
      if let known = entry.trigger {
        trigger = known
      } else {
        trigger = try Trigger.read(entry.body, kind: Trigger.Kind(entry.kind), trip: trip.id)
      }
    } catch {
      return pass(entry, because: error.problems[0])
    }
    var draft = takeDraft(of: trip)
    defer { drafts[trip.id] = draft }
    guard draft.life.acceptsTriggers else {
      return pass(entry, because: Problem(.endedTrip, "The trip \(trip.id) had ended before."))
    }
    applied += 1
    var verdict = TriggerNote.Verdict.unchanged
    switch trip.mapper.apply(trigger, acceptedAt: entry.acceptedAt, to: &draft.card) {
    case .changed(let change):
      verdict = .changed
      draft.revision = draft.revision.next
      draft.isSignificant = draft.isSignificant || change.isSignificant
      draft.alert = change.alert ?? draft.alert
      if let span = change.endsAfter { note(.endMoved(to: now + span), in: &draft) }
    case .unchanged: break
    case .refused(let refusal):
      verdict = .refused
      pass(entry, because: refusal.problems[0])
    }
    draft.triggers.add(
      TriggerNote(
        id: entry.id, kind: entry.kind.rawValue, acceptedAt: entry.acceptedAt, committedAt: now,
        revision: draft.revision, verdict: verdict, trace: trigger.trace))
    if case .end(let end) = trigger.effect {
      note(.endRequested(dismissal: end.dismissal), in: &draft)
    }
  }

  /// Taken out while it changes: a second reference would have all of it copied.
  private mutating func takeDraft(of trip: OwnedTrip) -> Draft {
    if let known = drafts.removeValue(forKey: trip.id) { return known }
    trips.append(trip.id)
    return Draft(trip)
  }

  private func note(_ event: TripEvent, in draft: inout Draft) {
    draft.events.append(event)
    draft.actions += draft.life.handle(event, at: now, rules: rules)
  }

  /// Another node changed a trip's life meanwhile: what the batch asks of it is asked again.
  mutating func retake(_ id: TripID, from current: TripLife) {
    guard var draft = drafts[id] else { return }
    draft.trip.adopt(current)
    draft.from = current
    draft.life = current
    draft.actions = []
    for event in draft.events { draft.actions += draft.life.handle(event, at: now, rules: rules) }
    drafts[id] = draft
  }

  /// What the store is to write.
  var commit: Commit { Commit(from: from, to: to, changes: changes, at: now) }

  private var changes: [TripChange] {
    trips.compactMap { id in
      guard let draft = drafts[id] else { return nil }
      let trip = draft.trip
      let isNew = draft.revision != trip.revision
      let memory = draft.card.memory
      let life: LifeChange? =
        draft.events.isEmpty
        ? nil
        : LifeChange(of: trip.id, from: draft.from, to: draft.life, actions: draft.actions)
      let isMemoryNew = memory != trip.card.memory
      guard isNew || isMemoryNew || life != nil else { return nil }
      return TripChange(
        trip: trip.id,
        newState: isNew
          ? (revision: draft.revision, contentState: draft.card.state.bytes) : nil,
        mapperMemory: isMemoryNew ? memory.written() : nil, life: life)
    }
  }
}

extension Trigger.Kind {
  /// What a log entry is; an entry that is news rather than a trigger has no kind.
  fileprivate init?(_ kind: LogEntry.Kind) {
    switch kind {
    case .note: self = .note
    case .state: self = .state
    case .phase: self = .phase
    case .end: self = .end
    case .created, .life, .member, .push: return nil
    }
  }
}
