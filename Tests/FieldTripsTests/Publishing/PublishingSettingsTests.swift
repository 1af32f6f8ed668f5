import FieldTrips
import Testing

@Suite struct `Publishing settings` {
  private func applied(_ text: String) throws -> PublishingSettings {
    var settings = PublishingSettings()
    try settings.apply(text)
    return settings
  }

  @Test func `are a profile, single values, or both`() throws {
    #expect(try applied("") == PublishingSettings())
    #expect(try applied("standard").policy == .standard)
    let settings = try applied("frequent, overdraft=2,tail=off,burst=30,gap-window=off")
    #expect(settings.policy.budgetPerHour == 120)
    #expect(settings.policy.overdraft == 2)
    #expect(!settings.policy.isTailOn)
    #expect(settings.policy.burst == 30)
    #expect(settings.policy.gap.window == nil)
    #expect(try applied("burst=30,burst=auto").policy.burst == nil)
    #expect(try applied("tail-gap=7.5").policy.tailGap == .milliseconds(7_500))
    #expect(try applied("app-rate=5,app-rate-ceiling=9").appRate.ceiling == 9)
  }

  @Test(
    arguments: [
      "budget=0", "budget=sixty", "budget=", "budget", "speed=3", "burst=2.5", "tail=yes",
      "tail-pause=4000", "skew-alarm=28000", "app-rate=2000", "app-rate-floor=200", "=3",
      "overdraft=auto", "price=nan",
    ])
  func `refuse what they do not know, and what is out of range`(_ text: String) {
    #expect(throws: PolicyError.self) { try applied(text) }
  }

  @Test func `can each be read back as they were written`() throws {
    for setting in PublishingSettings.all {
      var settings = PublishingSettings()
      let standard = setting.value(in: settings)
      #expect(!standard.isEmpty, "\(setting.name)")
      try settings.apply("\(setting.name)=\(standard)")
      #expect(settings == PublishingSettings(), "\(setting.name)")
      guard !setting.isSwitch else { continue }
      // Another value arrives, and nowhere else.
      let other = standard == "7" ? "8" : "7"
      let range = setting.range
      guard range.contains(8), setting.name != "tail-pause-cap", setting.name != "skew-limit",
        setting.name != "app-rate-ceiling", setting.name != "app-rate-floor"
      else { continue }
      try? settings.apply("\(setting.name)=\(other)")
      let changed = PublishingSettings.all.filter {
        $0.value(in: settings) != $0.value(in: PublishingSettings())
      }
      #expect(changed.map(\.name) == [setting.name])
      #expect(setting.value(in: settings) == other)
    }
  }

  @Test func `have names of their own, and say what they mean`() {
    let names = PublishingSettings.all.map(\.name)
    #expect(Set(names).count == names.count)
    for setting in PublishingSettings.all {
      #expect(setting.meaning.hasSuffix("."), "\(setting.name)")
    }
  }

  @Test func `tell how many broadcasts an hour may see`() throws {
    #expect(PublishingSettings().mostInAnHour == 75)
    #expect(try applied("standard").mostInAnHour == 17)
  }
}
