import APNsSimulator
import Clocks
import Testing

@Suite struct `A card` {
  private let initial = Array(#"{"notesCaptured":0}"#.utf8)

  /// One phone on one channel, whose pushes arrive at once and in the order in which they are sent.
  private func oneCard(
    _ change: (inout SimulatorConfiguration) -> Void = { _ in }
  ) throws -> (world: World, channelID: String, phone: Int) {
    var world = try World {
      $0.delivery = .constant(.zero)
      $0.channels.storingBudget = nil
      change(&$0)
    }
    let channelID = try world.createChannel()
    let phones = try world.apns.addCrowd(
      1, bundleID: World.bundleID, channelID: channelID, contentState: initial, now: world.now)
    return (world, channelID, phones.lowerBound)
  }

  private static let orders = [
    [0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0],
  ]

  @Test(arguments: orders)
  func `keeps the newest state and the end whatever the order of update 100, end 50, update 80`(
    _ order: [Int]
  ) throws {
    var (world, channelID, phone) = try oneCard()
    let bodies = [
      world.update(100, notes: 100), world.end(50, notes: 50), world.update(80, notes: 80),
    ]
    for index in order {
      #expect(world.send(try world.broadcast(channelID, bodies[index])).status == 200)
      world.wait(1)
    }
    let card = try world.onlyCard(of: phone)
    #expect(card.phase == .ended)
    // What was newest before the end stays; what comes after the end is ignored.
    let before = order.prefix { $0 != 1 }
    let shown = before.contains(0) ? 100 : before.contains(2) ? 80 : 50
    #expect(card.contentState == #"{"notesCaptured":\#(shown)}"#)
  }

  @Test func `ignores an equal timestamp`() throws {
    var (world, channelID, phone) = try oneCard()
    _ = world.send(try world.broadcast(channelID, world.update(100, notes: 1)))
    _ = world.send(try world.broadcast(channelID, world.update(100, notes: 2)))
    #expect(try world.onlyCard(of: phone).contentState == #"{"notesCaptured":1}"#)
    let outcomes = try world.apns.history(of: phone, now: world.now).map(\.outcome)
    #expect(outcomes == [.shown, .dropped(.equalTimestamp)])
  }

  @Test func `takes a timestamp eight hours ahead and none beyond`() throws {
    var (world, channelID, phone) = try oneCard()
    let limit = world.now.wholeSeconds + 8 * 3600
    _ = world.send(try world.broadcast(channelID, world.update(limit + 1, notes: 1)))
    #expect(try world.onlyCard(of: phone).shownTimestampSeconds == nil)
    _ = world.send(try world.broadcast(channelID, world.update(limit, notes: 2)))
    #expect(try world.onlyCard(of: phone).shownTimestampSeconds == limit)
  }

  @Test func `does not show what its struct cannot decode`() throws {
    var (world, channelID, phone) = try oneCard()
    let states = [
      #"{"notes":1}"#, #"{"notesCaptured":"1"}"#, #"{"notesCaptured":null}"#, "[]",
      #"{"notesCaptured":1,"lastPlaceName":5}"#,
    ]
    for (index, state) in states.enumerated() {
      let body =
        #"{"aps":{"timestamp":\#(100 + index),"event":"update","content-state":\#(state)}}"#
      #expect(world.send(try world.broadcast(channelID, body)).status == 200)
    }
    let outcomes = try world.apns.history(of: phone, now: world.now).map(\.outcome)
    #expect(outcomes == Array(repeating: .dropped(.undecodable), count: states.count))
    let good = #"{"notesCaptured":1.0,"lastPlaceName":null,"more":[1]}"#
    let body = #"{"aps":{"timestamp":200,"event":"update","content-state":\#(good)}}"#
    _ = world.send(try world.broadcast(channelID, body))
    #expect(try world.onlyCard(of: phone).contentState == good)
  }

  @Test func `has room for four kilobytes of attributes and state together`() throws {
    var (world, channelID, _) = try oneCard()
    let name = String(repeating: "a", count: 4096 - 40)
    let state = #"{"notesCaptured":1,"lastPlaceName":"\#(name)"}"#
    let phones = try world.apns.addCrowd(
      1, bundleID: World.bundleID, channelID: channelID, contentState: initial,
      traits: ActivityTraits(attributesBytes: 4096 - state.utf8.count), now: world.now)
    let full = try world.apns.addCrowd(
      1, bundleID: World.bundleID, channelID: channelID, contentState: initial,
      traits: ActivityTraits(attributesBytes: 4097 - state.utf8.count), now: world.now)
    let body = #"{"aps":{"timestamp":200,"event":"update","content-state":\#(state)}}"#
    #expect(world.send(try world.broadcast(channelID, body)).status == 200)
    world.wait(1)
    #expect(try world.onlyCard(of: phones.lowerBound).shownTimestampSeconds == 200)
    let outcomes = try world.apns.history(of: full.lowerBound, now: world.now).map(\.outcome)
    #expect(outcomes == [.dropped(.stateTooLarge)])
  }

  @Test func `turns stale at its date until an update moves it`() throws {
    var (world, channelID, phone) = try oneCard()
    let stale = world.now.wholeSeconds + 60
    let body =
      #"{"aps":{"timestamp":100,"event":"update","content-state":{"notesCaptured":1},"stale-date":\#(stale)}}"#
    _ = world.send(try world.broadcast(channelID, body))
    world.wait(59)
    #expect(try world.onlyCard(of: phone).phase == .active)
    world.wait(1)
    #expect(try world.onlyCard(of: phone).phase == .stale)
    _ = world.send(try world.broadcast(channelID, world.update(101, notes: 2)))
    #expect(try world.onlyCard(of: phone).phase == .active)
  }

  @Test func `stays four hours after its end, or as long as it is told within them`() throws {
    for (dismissal, stays) in [(nil, 4 * 3600), (600, 600), (6 * 3600, 4 * 3600), (-5, 0)]
      as [(Int64?, Int)]
    {
      var (world, channelID, phone) = try oneCard()
      let date = dismissal.map { world.now.wholeSeconds + $0 }
      _ = world.send(try world.broadcast(channelID, world.end(100, notes: 1, dismissal: date)))
      if stays > 0 {
        world.wait(Double(stays) - 1)
        #expect(try world.onlyCard(of: phone).phase == .ended)
        world.wait(1)
      }
      #expect(try world.onlyCard(of: phone).phase == .dismissed)
    }
  }

  @Test func `is ended after eight hours and gone after twelve`() throws {
    var (world, channelID, phone) = try oneCard()
    world.wait(8 * 3600 - 1)
    #expect(try world.onlyCard(of: phone).phase == .active)
    world.wait(1)
    #expect(try world.onlyCard(of: phone).phase == .ended)
    _ = world.send(try world.broadcast(channelID, world.update(world.now.wholeSeconds, notes: 1)))
    let outcomes = try world.apns.history(of: phone, now: world.now).map(\.outcome)
    #expect(outcomes == [.dropped(.activityEnded)])
    world.wait(4 * 3600)
    #expect(try world.onlyCard(of: phone).phase == .dismissed)
  }

  @Test func `says that nothing changed when the state is the same`() throws {
    var (world, channelID, phone) = try oneCard()
    _ = world.send(try world.broadcast(channelID, world.update(100, notes: 0)))
    let outcomes = try world.apns.history(of: phone, now: world.now).map(\.outcome)
    #expect(outcomes == [.unchanged])
  }

  @Test func `ignores a start by broadcast`() throws {
    var (world, channelID, phone) = try oneCard()
    let body = #"{"aps":{"timestamp":100,"event":"start","content-state":{"notesCaptured":1}}}"#
    #expect(world.send(try world.broadcast(channelID, body)).status == 200)
    let outcomes = try world.apns.history(of: phone, now: world.now).map(\.outcome)
    #expect(outcomes == [.dropped(.startForRunningActivity)])
  }
}
