/// The identity of a notification: a UUID that places it, and sixteen digits behind it.
///
/// All notifications of one trip or of one member have the first part in common, so that one
/// partition holds them and counts them.
package struct NotificationID: Hashable, Sendable {
  /// The trip's own ID, or one that follows from the member's name.
  package let home: TripID
  /// Within its home: 1 to 16 letters and digits in lower case.
  package let name: String

  package init(home: TripID, name: String) {
    self.home = home
    self.name = name
  }

  /// Reads what ``text`` wrote.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let home = try? TripID(parts[0]),
      (1...16).contains(parts[1].utf8.count),
      parts[1].utf8.allSatisfy({
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
      })
    else { return nil }
    self.init(home: home, name: String(parts[1]))
  }

  package var text: String { home.text + "." + name }
}

extension NotificationID: CustomStringConvertible {
  package var description: String { text }
}
