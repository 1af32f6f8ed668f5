import Clocks
import FieldTrips
import Testing

/// The rules that hold whatever happens. Each run is a trip with its own traffic and its own faults;
/// the argument is the seed that repeats it.
@Suite struct `A publisher in a faulty world` {
  private static let seeds = 1...60 as ClosedRange<UInt64>

  private func world(
    _ seed: UInt64, _ faults: PublisherWorld.Faults? = nil, isTailOn: Bool? = nil,
    onSeconds: Bool = false
  ) -> PublisherWorld {
    var dice = PolicyDice(seed: seed)
    var policy: PublishingPolicy = [.standard, .default, .frequent][dice.roll(0...2)]
    policy.isTailOn = isTailOn ?? dice.happens(0.5)
    var world = PublisherWorld(
      policy: policy, faults: faults ?? .random(seed: seed), seed: seed)
    world.live(changes: 200, meanGap: [4, 20, 90][dice.roll(0...2)], onSeconds: onSeconds)
    return world
  }

  @Test(arguments: seeds)
  func `converges once changes stop and APNs accepts`(_ seed: UInt64) {
    var world = world(seed)
    world.settle()
    #expect(world.shownRevision == world.revision)
    #expect(world.publisher.publishedRevision.number == world.revision)
    #expect(world.publisher.isClean)
    #expect(world.complaints == [])
  }

  @Test(arguments: seeds)
  func `converges when the wall clock is set now and then`(_ seed: UInt64) {
    var faults = PublisherWorld.Faults.random(seed: seed)
    (faults.clockJumps, faults.jumpSeconds) = (0.05, 4_000)
    var world = world(seed, faults)
    world.settle()
    #expect(world.shownRevision == world.revision)
    #expect(world.complaints == [])
    #expect(isStrictlyIncreasing(world.requests.map { $0.timestamp }))
  }

  @Test(arguments: seeds)
  func `never repeats a second and never runs ahead of the clock`(_ seed: UInt64) {
    var world = world(seed)
    world.settle()
    #expect(isStrictlyIncreasing(world.requests.map { $0.timestamp }))
    #expect(world.requests.allSatisfy { $0.timestamp <= $0.wallSeconds })
  }

  @Test(arguments: seeds)
  func `stays within its budget in every window`(_ seed: UInt64) {
    var world = world(seed)
    world.settle()
    let policy = world.policy
    let spent = world.immediate.filter { request in
      switch request.outcome {
      case .accepted, .unknown: true
      default: false
      }
    }
    let refill = 3_600 / policy.budgetPerHour
    let allowance = Double(max(2, Int(policy.budgetPerHour / 6)) + policy.overdraft)
    // Request i at tᵢ: j − i + 1 ≤ allowance + (tⱼ − tᵢ) / refill for all pairs, that is: what
    // i − tᵢ / refill has grown to by j never exceeds its least value so far by more.
    var least = Double.infinity
    for (index, request) in spent.enumerated() {
      let excess = Double(index) - request.at.seconds / refill
      least = min(least, excess)
      #expect(excess - least + 1 <= allowance + 1e-6, "at \(request.at.seconds)")
    }
    for request in world.immediate {
      let least = request.rank == .ordinary ? 0 : -Double(policy.overdraft)
      #expect(request.levelAfter >= least - 1e-6)
    }
  }

  @Test(arguments: seeds)
  func `lets a significant change out at once`(_ seed: UInt64) {
    var faults = PublisherWorld.Faults.random(seed: seed)
    // What is read late may carry it earlier.
    faults.reading = 0
    let world = world(seed, faults)
    for change in world.changes where change.isSignificant && change.isUnhindered {
      guard change.level >= Double(1 - world.policy.overdraft) else { continue }
      let carrier = world.immediate.first { $0.revision >= change.revision }
      // Less only if the owner died with the request, which the store does not tell.
      guard let carrier, !world.hadCrash else { continue }
      #expect(carrier.rank == .significant)
      #expect(carrier.at - change.at <= .seconds(1))
    }
  }

  @Test(arguments: seeds)
  func `keeps no note waiting for longer than a token takes`(_ seed: UInt64) {
    var world = world(seed, PublisherWorld.Faults())
    world.settle()
    for change in world.changes {
      let carrier = world.immediate.first { $0.revision >= change.revision }
      let wait = ((carrier?.at ?? .distantFuture) - change.at).inSeconds
      let refill = 3_600 / world.policy.budgetPerHour
      #expect(wait <= (1 + max(0, -change.level)) * refill + 1.001, "revision \(change.revision)")
    }
  }

  @Test(arguments: seeds)
  func `wastes no token and sets no timer for nothing`(_ seed: UInt64) {
    #expect(world(seed, PublisherWorld.Faults()).complaints == [])
    var faults = PublisherWorld.Faults.random(seed: seed)
    faults.crashes = 0
    #expect(world(seed, faults, isTailOn: false).complaints == [])
  }

  @Test(arguments: seeds)
  func `knows at any time what no broadcast carries, and sends nothing twice`(_ seed: UInt64) {
    var faults = PublisherWorld.Faults.random(seed: seed)
    faults.crashes = 0
    faults.reading = max(faults.reading, 1)
    var world = world(seed, faults)
    // The world compares the backlog with the revisions at each step.
    #expect(world.complaints == [])
    world.settle()
    #expect(world.complaints == [])
    guard faults.latency == 0 else { return }
    // No request at priority 10 carries what APNs has accepted, unless it was begun for a
    // significant change that the one before it then read as well.
    var accepted: Int64 = 0
    for request in world.immediate {
      #expect(request.revision > accepted || request.inFlightBefore > 0)
      if request.outcome == .accepted { accepted = request.revision }
    }
  }

  @Test(arguments: seeds)
  func `is slowed by refusals down to its floor, and recovers its whole budget`(_ seed: UInt64) {
    var faults = PublisherWorld.Faults()
    faults.outcomes = [(.throttled(), 1)]
    faults.significant = 0.02
    var world = world(seed, faults, isTailOn: true)
    let policy = world.policy
    // From the budget to the floor it is a handful of steps of 0.7.
    world.live(changes: 60, meanGap: 240)
    let floor = min(policy.rateFloor, policy.budgetPerHour)
    #expect(world.publisher.ratePerHour == floor)
    let tries = world.immediate
    #expect(tries.count > 8)
    for (before, next) in zip(tries, tries.dropFirst()) where next.rank == .ordinary {
      // A 429 empties the bucket, so that the next try has to wait for a token.
      #expect(next.at - before.at >= before.refillInterval - .milliseconds(1))
    }
    world.calm()
    world.live(changes: 1_200, meanGap: 3_600 / policy.budgetPerHour)
    #expect(world.publisher.ratePerHour == policy.budgetPerHour)
    world.settle()
    #expect(world.complaints == [])
  }

  @Test(arguments: seeds)
  func `sends no tail for a while after a refusal`(_ seed: UInt64) {
    var faults = PublisherWorld.Faults.random(seed: seed)
    faults.outcomes = [(.throttled(), 0.2)]
    faults.crashes = 0
    let world = world(seed, faults, isTailOn: true)
    // From when its answer is there, every 429 silences the tail, but for one that was begun.
    let late = Duration.nanoseconds(Int64((faults.latency + faults.reading) * 1e9))
    var refused: [Moment] = []
    for request in world.requests {
      if request.rank == .tail, let last = refused.last(where: { $0 + late < request.at }) {
        #expect(request.at - last >= world.policy.tailPause, "at \(request.at.seconds)")
      }
      if case .throttled = request.outcome { refused.append(request.at) }
    }
  }

  @Test(arguments: seeds)
  func `has one request in flight, or a significant one beside it`(_ seed: UInt64) {
    let world = world(seed)
    for request in world.requests where request.inFlightBefore > 0 {
      #expect(request.inFlightBefore == 1)
      #expect(request.rank == .significant)
    }
  }

  @Test(arguments: seeds)
  func `sends at the same moments with and without a tail`(_ seed: UInt64) {
    // With changes on whole seconds no tail can have taken the second that a change then needs.
    let with = world(seed, PublisherWorld.Faults(), isTailOn: true, onSeconds: true)
    let without = world(seed, PublisherWorld.Faults(), isTailOn: false, onSeconds: true)
    #expect(without.requests.allSatisfy { $0.rank != .tail })
    #expect(with.immediate.map { $0.at } == without.immediate.map { $0.at })
  }

  @Test(arguments: seeds)
  func `sends nothing after the end, and the end until it is accepted`(_ seed: UInt64) throws {
    var world = world(seed)
    world.end()
    world.live(changes: 10, meanGap: 30)
    world.settle()
    guard world.publisher.isEnded else { return #expect(world.publisher.stop == .channelGone) }
    let first = try #require(world.requests.firstIndex { $0.rank == .end } ?? goneIndex(world))
    #expect(world.requests[first...].allSatisfy { $0.rank == .end || $0.outcome == .channelGone })
    // Again only where the owner died with the answer.
    let accepted = world.requests.filter { $0.rank == .end && $0.outcome == .accepted }.count
    #expect(accepted <= 1 || world.hadCrash)
    #expect(world.complaints == [])
    #expect(world.decision == .idle)
  }

  private func goneIndex(_ world: PublisherWorld) -> Int? {
    world.requests.lastIndex { $0.outcome == .channelGone }
  }

  private func isStrictlyIncreasing(_ values: [Int64]) -> Bool {
    zip(values, values.dropFirst()).allSatisfy { $0 < $1 }
  }
}
