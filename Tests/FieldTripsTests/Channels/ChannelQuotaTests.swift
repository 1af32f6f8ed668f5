import FieldTrips
import Testing

@Suite struct `The quota of channels` {
  @Test(
    arguments: [
      (0, .ample), (7_999, .ample), (8_000, .scarce), (9_999, .scarce), (10_000, .usedUp),
      (12_000, .usedUp),
    ] as [(Int, ChannelQuota.Level)])
  func `warns at 80 percent and stops at the limit`(used: Int, level: ChannelQuota.Level) {
    #expect(ChannelQuota().level(used: used) == level)
    #expect(ChannelQuota().left(used: used) == max(0, 10_000 - used))
  }
}
