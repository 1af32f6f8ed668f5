/// Turns the place texts of observations into labels that give nobody's address away.
///
/// Such a text goes from the near to the far: `Hyde Park, London, UK`, or `Mill Lane 3, 3340
/// Waidhofen, Austria`. Parts with digits are left out: they are house numbers or coordinates; but
/// a postcode before a town is only taken off. Of the rest the nearest name that two observers
/// agree on is public enough; else the town is taken, the last part before the country. The first
/// part is never kept on the word of one person: it may be somebody's garden. Where nothing
/// remains, the place gets a number.
struct CoarsePlaces {
  private var usersOfName: [String: Set<String>] = [:]
  private var numberOfText: [String: Int] = [:]

  /// Takes in one observation before any label is asked for.
  mutating func note(_ text: String, by user: String) {
    for name in Self.names(in: text).map(\.name) { usersOfName[name, default: []].insert(user) }
  }

  /// - Parameter people: the observers' login and real names, which no label may contain.
  mutating func label(for text: String, people: Set<String>) -> String {
    let names = Self.names(in: text).filter { candidate in
      let lowered = candidate.name.lowercased()
      return !people.contains { $0.count >= 3 && lowered.contains($0.lowercased()) }
    }
    // The last part is a country or a state, too wide unless it is all there is.
    let near = names.count > 1 ? names.dropLast() : names[...]
    if let shared = near.first(where: { (usersOfName[$0.name]?.count ?? 0) >= 2 }) {
      return shared.name
    }
    if let town = near.last(where: { !$0.isFirst }) ?? names.last(where: { !$0.isFirst }) {
      return town.name
    }
    let number = numberOfText[text] ?? numberOfText.count + 1
    numberOfText[text] = number
    return "Place \(number)"
  }

  private struct Name {
    var name: String
    /// Whether it is the nearest part of its text.
    var isFirst: Bool
  }

  private static func names(in text: String) -> [Name] {
    text.split(separator: ",").enumerated().compactMap { index, part in
      var words = part.split(whereSeparator: \.isWhitespace)
      if index > 0, words.count > 1, let first = words.first, isPostcode(first) {
        words.removeFirst()
      }
      let name = words.joined(separator: " ")
      guard !name.isEmpty, name.count <= 60, !name.contains(where: \.isNumber) else { return nil }
      return Name(name: name, isFirst: index == 0)
    }
  }

  private static func isPostcode(_ word: Substring) -> Bool {
    let digits = word.count { $0.isNumber }
    return digits >= 4 && word.allSatisfy { $0.isNumber || $0 == "-" || $0.isUppercase }
  }
}
