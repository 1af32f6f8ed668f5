internal import Clocks
internal import HTTP
internal import Transport

/// Members who come while captures do, and go again: as many joins as leaves, at random moments.
struct Churn: Sendable {
  package struct Tally: Sendable {
    var joins = 0
    var leaves = 0
    var failures = 0
    var joinTime = LatencyHistogram()
  }

  private struct Guest: Sendable {
    let member: String
    let trip: TripCrew.Trip
    let phone: SimulatorProbe.SinglePhone
  }

  let settings: LoadSettings
  let trips: [TripCrew.Trip]
  let caller: ServiceDoors
  let simulator: SimulatorProbe
  let loop: EventLoop

  /// Joins and leaves from `start` on until the load is over.
  func run(from start: Moment) async -> Tally {
    var tally = Tally()
    guard settings.churnPerSecond > 0 else { return tally }
    var random = LoadRandom(seed: settings.seed ^ 0xC4)
    var guests: [Guest] = []
    var at = 0.0
    while !Task.isCancelled {
      at += random.exponential(mean: 0.5 / settings.churnPerSecond)
      guard at < settings.seconds else { break }
      let due = start + .nanoseconds(Int64(at * 1e9))
      guard (try? await loop.sleep(until: due)) != nil else { break }
      do {
        if guests.isEmpty || random.below(2) == 0 {
          tally.joins += 1
          guests.append(try await join(tally.joins, trips[random.below(trips.count)]))
          tally.joinTime.add(Int((MonotonicClock.now() - due).wholeNanoseconds / 1_000))
        } else {
          let guest = guests.remove(at: random.below(guests.count))
          tally.leaves += 1
          try await caller.leave(guest.member, trip: guest.trip.id)
          try await simulator.dismiss(guest.phone)
        }
      } catch {
        tally.failures += 1
      }
    }
    return tally
  }

  private func join(_ number: Int, _ trip: TripCrew.Trip) async throws -> Guest {
    let member = "guest-\(number)"
    let joined = try await caller.join(member, trip: trip.id, osVersion: "18.2")
    let phone = try await simulator.addPhone(
      channelID: joined.channelID ?? trip.channelID, contentState: joined.contentState,
      staleDateSeconds: joined.staleDateSeconds)
    return Guest(member: member, trip: trip, phone: phone)
  }
}
