internal import Clocks
internal import FieldTrips

/// A trip's life as one line of words, so that a script can compare all of it with what a writer
/// had read, and replace it, in one step:
///
/// ```
/// live - open dGhlY2hhbm5lbA== - 1716620400000 1716620400000 1716649200000 300000 default
/// ```
///
/// In order: phase and since when; channel, its ID and when it is to be deleted; created, starts
/// and ends at; stale after; dismissal. Times and spans are milliseconds, `-` is nothing. Scripts
/// read the first word only.
extension TripLife {
  var text: String {
    let (since, channel) = (Self.since(phase), Self.words(self.channel))
    let dismissal =
      switch times.dismissal {
      case .systemDefault: "default"
      case .atOnce: "once"
      case .after(let span): String(span.wholeNanoseconds / 1_000_000)
      }
    return [
      phase.name, Self.word(since?.milliseconds), channel, "\(times.createdAt.milliseconds)",
      "\(times.startsAt.milliseconds)", "\(times.endsAt.milliseconds)",
      Self.word(times.staleAfter.map { $0.wholeNanoseconds / 1_000_000 }), dismissal,
    ].joined(separator: " ")
  }

  /// Reads ``text``; nil for anything else.
  init?(text: some StringProtocol) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 10,
      let phase = Self.phase(words[0], since: Self.time(words[1])),
      let channel = Self.channel(words[2], words[3], at: Self.time(words[4])),
      let createdAt = Self.time(words[5]), let startsAt = Self.time(words[6]),
      let endsAt = Self.time(words[7]), let dismissal = Self.dismissal(words[9]),
      words[8] == "-" || Int64(words[8]) != nil
    else { return nil }
    self.init(
      phase: phase, channel: channel,
      times: TripTimes(
        createdAt: createdAt, startsAt: startsAt, endsAt: endsAt,
        staleAfter: Int64(words[8]).map { .milliseconds($0) }, dismissal: dismissal))
  }

  private static func since(_ phase: TripPhase) -> UnixTime? {
    switch phase {
    case .scheduled, .live: nil
    case .ending(let since): since
    case .ended(let at): at
    }
  }

  private static func words(_ channel: TripChannel) -> String {
    switch channel {
    case .opening: "opening - -"
    case .open(let id): "open \(id.text) -"
    case .deletionDue(let id, let at): "deletion \(id.text) \(at.milliseconds)"
    case .gone: "gone - -"
    case .unavailable: "unavailable - -"
    }
  }

  private static func word(_ number: Int64?) -> String { number.map { String($0) } ?? "-" }

  private static func time(_ word: some StringProtocol) -> UnixTime? {
    Int64(word).map { UnixTime(milliseconds: $0) }
  }

  private static func phase(_ word: some StringProtocol, since: UnixTime?) -> TripPhase? {
    switch word {
    case "scheduled": .scheduled
    case "live": .live
    case "ending": since.map { .ending(since: $0) }
    case "ended": since.map { .ended(at: $0) }
    default: nil
    }
  }

  private static func channel(
    _ word: some StringProtocol, _ id: some StringProtocol, at time: UnixTime?
  ) -> TripChannel? {
    let channel = try? ChannelID(String(id))
    return switch word {
    case "opening": .opening
    case "open": channel.map(TripChannel.open)
    case "deletion":
      if let channel, let time { .deletionDue(channel, at: time) } else { nil }
    case "gone": .gone
    case "unavailable": .unavailable
    default: nil
    }
  }

  private static func dismissal(_ word: some StringProtocol) -> Dismissal? {
    switch word {
    case "default": .systemDefault
    case "once": .atOnce
    default: Int64(word).map { .after(.milliseconds($0)) }
    }
  }
}
