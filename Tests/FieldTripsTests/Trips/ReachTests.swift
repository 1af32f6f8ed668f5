import FieldTrips
import Testing

@Suite struct `A member's reach` {
  let channel: ChannelID
  init() throws { channel = try ChannelID("Y2hhbm5lbA==") }

  /// One line of the table: system, tokens, reach with a channel, reach without, remote start.
  struct Line: Sendable, CustomTestStringConvertible {
    var system: OSVersion?
    var update: Bool
    var start: Bool
    var withChannel: Reach
    var without: Reach
    var starts: String

    init(
      _ system: OSVersion?, update: Bool = false, start: Bool = false, _ withChannel: Reach,
      _ without: Reach, _ starts: String
    ) {
      self.system = system
      self.update = update
      self.start = start
      self.withChannel = withChannel
      self.without = without
      self.starts = starts
    }

    var testDescription: String { "\(system.map(String.init(describing:)) ?? "unknown") \(starts)" }
  }

  @Test(arguments: [
    Line(OSVersion(18), .channel, .none, "no"),
    Line(OSVersion(18), start: true, .channel, .startToken, "onChannel"),
    Line(OSVersion(26, 1), update: true, start: true, .updateToken, .updateToken, "no"),
    Line(OSVersion(17, 2), .none, .none, "no"),
    Line(OSVersion(17, 2), start: true, .startToken, .startToken, "plain"),
    Line(OSVersion(17, 6), update: true, .updateToken, .updateToken, "no"),
    Line(OSVersion(17, 1), start: true, .none, .none, "no"),
    Line(OSVersion(16, 1), update: true, .updateToken, .updateToken, "no"),
    Line(OSVersion(16, 0), update: true, .none, .none, "no"),
    Line(nil, start: true, .startToken, .startToken, "plain"),
    Line(nil, update: true, .updateToken, .updateToken, "no"),
    Line(nil, .none, .none, "no"),
  ])
  func `follows the system and the tokens`(line: Line) {
    let device = DeviceReach(
      osVersion: line.system, hasUpdateToken: line.update, hasPushToStartToken: line.start)
    #expect(device.reach(channelIsOpen: true) == line.withChannel)
    #expect(device.reach(channelIsOpen: false) == line.without)
    let start = device.remoteStart(channel: channel)
    #expect(
      start == (line.starts == "no" ? nil : line.starts == "plain" ? .plain : .onChannel(channel)))
  }

  @Test func `without a channel a new card asks for its own token`() {
    let device = DeviceReach(osVersion: OSVersion(18), hasPushToStartToken: true)
    #expect(device.remoteStart(channel: nil) == .withToken)
  }

  @Test func `never starts a card again that was dismissed`() {
    let device = DeviceReach(
      osVersion: OSVersion(18), hasPushToStartToken: true, hasDismissed: true)
    #expect(device.remoteStart(channel: channel) == nil)
  }

  @Test func `reads versions strictly`() throws {
    #expect(try OSVersion("17.2.1") == OSVersion(17, 2))
    #expect(try OSVersion("18") == OSVersion(18, 0))
    #expect(OSVersion(17, 10) > OSVersion(17, 2))
    for text in ["", "iOS 17", "17.", "17.x", "1.2.3.4", "-17", "0", "17.2 ", "1234"] {
      #expect(throws: IdentifierError.self) { try OSVersion(text) }
    }
  }
}
