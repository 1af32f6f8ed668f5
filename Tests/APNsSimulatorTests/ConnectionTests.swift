import APNsSimulator
import Testing

@Suite struct `A connection` {
  @Test func `has one stream until its first token is accepted`() throws {
    var world = try World()
    #expect(world.management.maxConcurrentStreams == 1)
    let list = try world.management("GET", "all-channels")
    #expect(world.manage(list.with("authorization", nil)).effects.isEmpty)
    #expect(world.management.maxConcurrentStreams == 1)
    #expect(world.manage(list).effects == [.setMaxConcurrentStreams(1000)])
    #expect(world.manage(list).effects.isEmpty)
  }

  @Test func `gets its streams for a valid token even if the request is refused`() throws {
    var world = try World()
    let answer = world.manage(try world.management("GET", channelID: "AAAA"))
    #expect(answer.reasonText == "ChannelNotRegistered")
    #expect(answer.effects == [.setMaxConcurrentStreams(1000)])
  }

  @Test func `falls back to one stream after many refusals, and recovers by one success`() throws {
    var world = try World { $0.connections.slowDownAfterRefusals = 3 }
    let good = try world.management("GET", "all-channels")
    let bad = try world.management("GET", channelID: "AAAA")
    _ = world.manage(good)
    #expect(world.manage(bad).effects.isEmpty)
    #expect(world.manage(bad).effects.isEmpty)
    #expect(world.manage(bad).effects == [.setMaxConcurrentStreams(1)])
    #expect(world.manage(good).effects == [.setMaxConcurrentStreams(1000)])
  }

  @Test func `is told to go away after a flood of refusals, with the last reason`() throws {
    var world = try World {
      $0.connections.slowDownAfterRefusals = nil
      $0.connections.disconnectAfterRefusals = 5
    }
    let bad = try world.management("GET", channelID: "AAAA")
    for _ in 1...4 { #expect(!world.manage(bad).effects.contains(.goAway(.channelNotRegistered))) }
    #expect(world.manage(bad).effects == [.goAway(.channelNotRegistered)])
    #expect(world.manage(bad).effects.isEmpty)
  }

  @Test func `does not count 410 and 429 against itself`() throws {
    var world = try World {
      $0.connections.slowDownAfterRefusals = 2
      $0.devices.tokenBudget = nil
    }
    let phone = try world.apns.addPhone(PhoneSettings(bundleID: World.bundleID))
    let token = phone.deviceToken
    world.apns.setState(.unregistered(since: world.now), ofToken: token)
    let request = try world.device(token, #"{"aps":{"alert":"x"}}"#, type: "alert")
    for _ in 1...10 {
      let answer = world.send(request)
      #expect(answer.status == 410)
      #expect(!answer.effects.contains(.setMaxConcurrentStreams(1)))
    }
  }
}
