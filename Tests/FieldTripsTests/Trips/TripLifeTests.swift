import Clocks
import FieldTrips
import Testing

@Suite struct `A trip's life` {
  let start = UnixTime(wholeSeconds: 1_777_714_200)
  let channel: ChannelID
  let other: ChannelID
  let hour = Duration.seconds(3_600)

  init() throws {
    channel = try ChannelID("Zmlyc3Q=")
    other = try ChannelID("c2Vjb25k")
  }

  func liveTrip(staleAfter: Duration? = nil, dismissal: Dismissal = .systemDefault) -> TripLife {
    var life = TripLife(
      times: TripTimes(createdAt: start, staleAfter: staleAfter, dismissal: dismissal))
    _ = life.created(at: start)
    _ = life.handle(.channelOpened(channel), at: start)
    return life
  }

  @Test func `begins at once unless it starts later`() {
    var life = TripLife(times: TripTimes(createdAt: start))
    #expect(life.created(at: start) == [.openChannel, .schedule(.end, at: start + hour * 8)])
    #expect(life.phase == .live)
    #expect(life.handle(.channelOpened(channel), at: start) == [.startMembers(on: channel)])
    #expect(life.handle(.channelOpened(channel), at: start) == [])
  }

  @Test func `waits for its start, and takes triggers meanwhile`() {
    var life = TripLife(times: TripTimes(createdAt: start, startsAt: start + hour))
    #expect(life.created(at: start) == [.openChannel, .schedule(.start, at: start + hour)])
    #expect(life.handle(.channelOpened(channel), at: start) == [])
    #expect(life.acceptsTriggers && !life.mayPublishUpdate)
    #expect(
      life.handle(.startDue, at: start + .seconds(9)) == [.schedule(.start, at: start + hour)])
    #expect(
      life.handle(.startDue, at: start + hour)
        == [.schedule(.end, at: start + hour * 9), .startMembers(on: channel)])
    #expect(life.handle(.startDue, at: start + hour) == [])
  }

  @Test func `ends when its first card would die, if nobody said when`() {
    var life = liveTrip()
    #expect(life.handle(.endDue, at: start + hour) == [.schedule(.end, at: start + hour * 8)])
    let end = start + hour * 8
    let actions = life.handle(.endDue, at: end)
    #expect(actions.contains(.publishEnd(on: channel)))
    #expect(life.phase == .ending(since: end))
    #expect(!life.mayPublishUpdate && !life.acceptsTriggers && life.mayPublishEnd)
  }

  @Test func `ends earlier than planned when it is finished, and never later`() {
    var life = liveTrip()
    #expect(
      life.handle(.endMoved(to: start + hour), at: start) == [.schedule(.end, at: start + hour)])
    #expect(life.handle(.endMoved(to: start + hour * 2), at: start) == [])
    #expect(life.times.endsAt == start + hour)
  }

  @Test func `keeps its channel for the dismissal and a grace, then is forgotten`() {
    var life = liveTrip(dismissal: .after(.seconds(600)))
    _ = life.handle(.endRequested(dismissal: nil), at: start)
    let deletion = start + .seconds(60 + 600 + 900)
    #expect(
      life.handle(.endAccepted, at: start + .seconds(60))
        == [.schedule(.channelDeletion, at: deletion)])
    #expect(
      life.handle(.channelDeletionDue, at: deletion)
        == [.deleteChannel(channel), .schedule(.channelDeletion, at: deletion + .seconds(300))])
    #expect(
      life.handle(.channelDeleted(channel), at: deletion)
        == [
          .unschedule(.channelDeletion), .schedule(.forget, at: start + .seconds(660) + hour * 24),
        ])
    #expect(life.handle(.forgetDue, at: start + hour * 48) == [.forget])
  }

  @Test func `gives the end up when every card is gone, and still deletes the channel`() {
    var life = liveTrip()
    let actions = life.handle(.endRequested(dismissal: .atOnce), at: start)
    let backstop = start + hour * 4 + .seconds(900)
    #expect(
      actions.suffix(2) == [.publishEnd(on: channel), .schedule(.channelDeletion, at: backstop)])
    #expect(life.handle(.channelDeletionDue, at: backstop).first == .deleteChannel(channel))
    #expect(life.phase == .ended(at: backstop))
  }

  @Test func `gets a new channel when APNs lost it`() {
    var life = liveTrip()
    #expect(life.handle(.channelLost(other), at: start) == [])
    #expect(life.handle(.channelLost(channel), at: start) == [.openChannel])
    #expect(life.handle(.channelOpened(other), at: start) == [.startMembers(on: other)])
    #expect(life.handle(.channelLost(channel), at: start) == [])
  }

  @Test func `ends by token when the channel is lost meanwhile`() {
    var life = liveTrip()
    _ = life.handle(.endRequested(dismissal: nil), at: start)
    #expect(life.handle(.channelLost(channel), at: start) == [.publishEnd(on: nil)])
    #expect(life.handle(.endAccepted, at: start) == [.schedule(.forget, at: start + hour * 28)])
  }

  @Test func `deletes a channel that came too late`() {
    var life = TripLife(times: TripTimes(createdAt: start))
    _ = life.created(at: start)
    #expect(life.handle(.endRequested(dismissal: nil), at: start).last == .publishEnd(on: nil))
    #expect(life.handle(.channelOpened(channel), at: start).first == .deleteChannel(channel))
    #expect(life.channel == .deletionDue(channel, at: start))
  }

  @Test func `deletes a second channel`() {
    var life = liveTrip()
    #expect(life.handle(.channelOpened(other), at: start) == [.deleteChannel(other)])
    #expect(life.channel == .open(channel))
  }

  @Test func `refreshes a quiet card before it turns stale`() {
    var life = liveTrip(staleAfter: .seconds(400))
    #expect(
      life.handle(.updateAccepted, at: start) == [
        .schedule(.staleRefresh, at: start + .seconds(300))
      ])
    #expect(
      life.handle(.staleRefreshDue, at: start + .seconds(300))
        == [.refresh, .schedule(.staleRefresh, at: start + .seconds(600))])
    _ = life.handle(.endRequested(dismissal: nil), at: start + .seconds(301))
    #expect(life.handle(.staleRefreshDue, at: start + .seconds(600)) == [])
    #expect(life.handle(.updateAccepted, at: start + .seconds(600)) == [])
  }

  @Test func `reaches its members by token when there is no channel left`() {
    var life = TripLife(times: TripTimes(createdAt: start))
    _ = life.created(at: start)
    #expect(life.handle(.channelUnavailable, at: start) == [.startMembers(on: nil)])
    #expect(life.handle(.endRequested(dismissal: nil), at: start).last == .publishEnd(on: nil))
  }

  @Test func `a dismissal is at most four hours`() throws {
    #expect(try Dismissal.checked(after: hour * 4) == .after(hour * 4))
    #expect(try Dismissal.checked(after: .zero) == .atOnce)
    let error = #expect(throws: IdentifierError.self) { try Dismissal.checked(after: hour * 6) }
    #expect(
      error?.message
        == "A dismissal 21600 s after the end is over the system's limit of 14400 s (4 h).")
    #expect(Dismissal.systemDefault.date(endingAt: start) == nil)
    #expect(Dismissal.atOnce.date(endingAt: start).map { $0 < start } == true)
  }
}

/// Plays a trip against an APNs that answers late, twice, or not at all, and a node that restarts.
@Suite struct `Any trip` {
  struct World {
    var life: TripLife
    var dice: TripDice
    var now = UnixTime(wholeSeconds: 1_777_714_200)
    var due: [DueKind: UnixTime] = [:]
    var pending: [TripEvent] = []
    var opened: Set<ChannelID> = []
    var deleted: Set<ChannelID> = []
    var endWasPublished = false
    var isForgotten = false
    var violations: [String] = []

    mutating func perform(_ actions: [TripAction]) {
      for action in actions { perform(action) }
    }

    mutating func perform(_ action: TripAction) {
      switch action {
      case .openChannel: answerOpening()
      case .schedule(let kind, let at): due[kind] = at
      case .unschedule(let kind): due[kind] = nil
      case .startMembers: break
      case .refresh:
        if endWasPublished { violations.append("refresh after the end") }
        pending.append(.updateAccepted)
      case .publishEnd:
        if !life.mayPublishEnd { violations.append("end without a phase for it") }
        endWasPublished = true
        if !dice.happens(oneIn: 4) { pending.append(.endAccepted) }
      case .deleteChannel(let id):
        if life.channel == .open(id) { violations.append("a channel in use was deleted") }
        if !dice.happens(oneIn: 3) {
          deleted.insert(id)
          pending.append(.channelDeleted(id))
        }
      case .forget:
        isForgotten = true
      }
    }

    mutating func answerOpening() {
      guard !dice.happens(oneIn: 5), let id = try? ChannelID("channel\(opened.count)") else {
        return pending.append(.channelUnavailable)
      }
      opened.insert(id)
      pending.append(.channelOpened(id))
      if dice.happens(oneIn: 4) { pending.append(.channelOpened(id)) }
    }

    mutating func step() {
      if dice.happens(oneIn: 15) { perform(life.resumed(at: now)) }
      if dice.happens(oneIn: 20), let id = life.channel.openID { pending.append(.channelLost(id)) }
      if dice.happens(oneIn: 40) { pending.append(.endRequested(dismissal: nil)) }
      if let index = pending.indices.randomElement(using: &dice), !dice.happens(oneIn: 3) {
        deliver(pending[index])
        if !dice.happens(oneIn: 5) { pending.remove(at: index) }
      } else if let (kind, at) = due.min(by: { $0.value < $1.value }) {
        now = max(now, at)
        due[kind] = nil
        if let event = event(kind) { deliver(event) }
      }
    }

    mutating func deliver(_ event: TripEvent) {
      let before = rank
      perform(life.handle(event, at: now))
      if rank < before { violations.append("\(event) took the trip back") }
      if endWasPublished, life.mayPublishUpdate { violations.append("update after the end") }
    }

    var rank: Int {
      switch life.phase {
      case .scheduled: 0
      case .live: 1
      case .ending: 2
      case .ended: 3
      }
    }

    func event(_ kind: DueKind) -> TripEvent? {
      switch kind {
      case .start: .startDue
      case .end: .endDue
      case .staleRefresh: .staleRefreshDue
      case .channelDeletion: .channelDeletionDue
      case .forget: .forgetDue
      case .cards: nil  // of its members, not of its life
      }
    }
  }

  @Test(arguments: 0..<400 as Range<UInt64>)
  func `ends, is never updated afterwards, and leaves no channel`(seed: UInt64) {
    var dice = TripDice(seed: seed)
    let start = UnixTime(wholeSeconds: 1_777_714_200)
    let times = TripTimes(
      createdAt: start, startsAt: dice.happens(oneIn: 2) ? start + .seconds(600) : nil,
      staleAfter: dice.happens(oneIn: 2) ? .seconds(7_200) : nil)
    var world = World(life: TripLife(times: times), dice: dice)
    world.perform(world.life.created(at: start))
    for _ in 0..<3_000 where !world.isForgotten { world.step() }
    #expect(world.violations == [])
    #expect(world.isForgotten)
    // Channels that were lost or never used are the registry's to delete; the last is the trip's.
    if let last = world.life.channel.openID { Issue.record("\(last) is still open") }
  }
}
