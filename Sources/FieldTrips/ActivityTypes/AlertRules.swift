import JSON

/// What lights a phone up: an update without one changes the card in silence.
package struct AlertText: Hashable, Sendable {
  /// Neither of the two is ever empty: the phone ignores an alert without them, its sound included.
  package let title: String
  package let body: String
  /// A file in the app, or `default`.
  package let sound: String?

  /// - Throws: a sentence, when title or body are empty or a part is over 512 bytes or not printable.
  package init(title: String, body: String, sound: String? = nil) throws(IdentifierError) {
    guard !title.isEmpty, !body.isEmpty else {
      throw IdentifierError(
        "An alert needs a title and a body: without them the phone ignores it, its sound included.")
    }
    for (name, text) in [("title", title), ("body", body), ("sound", sound ?? "")] {
      guard text.unicodeScalars.allSatisfy({ isPrintable($0) || $0 == "\n" }) else {
        throw IdentifierError("The alert's \(name) contains characters that cannot be printed.")
      }
      guard text.utf8.count <= 512 else {
        throw IdentifierError(
          "The alert's \(name) has \(text.utf8.count) bytes, over the limit of 512.")
      }
    }
    self.title = title
    self.body = body
    self.sound = sound
  }

  private init(trusted title: String, _ body: String, _ sound: String?) {
    self.title = title
    self.body = body
    self.sound = sound
  }

  /// Puts values for names in braces, as in `{name} has {notesCaptured} notes`; content-state
  /// first, then attributes. A name without a value becomes nothing, and what then is
  /// empty stays as it was written. Each part is cut at 512 bytes again.
  func filled(from sources: [JSONObject]) -> AlertText {
    AlertText(trusted: fill(title, from: sources), fill(body, from: sources), sound)
  }
}

/// When a change brings an alert along.
package enum AlertOccasion: Hashable, Sendable {
  case firstNote
  case milestone
  case phase(String)
}

/// The alerts of an activity type.
package struct AlertRules: Sendable, Equatable {
  /// A remote start without alert is accepted by APNs and dropped by the phone, so there is one.
  package var start: AlertText
  /// Each makes its change significant.
  package var updates: [AlertOccasion: AlertText]

  package init(start: AlertText, updates: [AlertOccasion: AlertText] = [:]) {
    self.start = start
    self.updates = updates
  }
}

extension AlertText {
  /// What title and body take from a card, by name; a text that nothing but such names make up may
  /// come out empty.
  func names() -> [(part: String, names: [String], isBare: Bool)] {
    [("title", title), ("body", body)].map { part, template in
      let (names, words) = takenApart(template)
      return (part, names, words.allSatisfy { $0.allSatisfy(\.isWhitespace) })
    }
  }
}

/// The names in braces, and the words around them: one more than names.
private func takenApart(_ template: String) -> (names: [String], words: [Substring]) {
  var names: [String] = []
  var words: [Substring] = []
  var rest = template[...]
  while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
    words.append(rest[..<open])
    names.append(String(rest[rest.index(after: open)..<close]))
    rest = rest[rest.index(after: close)...]
  }
  return (names, words + [rest])
}

private func fill(_ template: String, from sources: [JSONObject]) -> String {
  let (names, words) = takenApart(template)
  var output = String(words[0])
  for (name, following) in zip(names, words.dropFirst()) {
    output += text(named: name, in: sources)
    output += following
  }
  return output.isEmpty ? template : cut(output, toBytes: 512)
}

private func text(named name: String, in sources: [JSONObject]) -> String {
  for source in sources {
    switch source[name] {
    case .string(let text): return String(text.unicodeScalars.filter(isPrintable))
    case .number(let number): return number.literal
    default: continue
    }
  }
  return ""
}
