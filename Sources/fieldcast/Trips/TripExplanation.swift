internal import JSON
internal import LoadHarness

/// A trip's timeline as a person reads it in a terminal.
struct TripExplanation {
  private let timeline: JSONValue
  private let last: Int
  private let style: Style

  /// - Parameters:
  ///   - timeline: what `GET /v1/trips/{trip}/timeline` answered.
  ///   - last: how many broadcasts to show.
  init(_ timeline: JSONValue, last: Int, style: Style) {
    self.timeline = timeline
    self.last = last
    self.style = style
  }

  var text: String { (head + waiting + broadcasts).joined(separator: "\n") + "\n" }

  private var head: [String] {
    let name = Text.harmless(timeline["name"]?.string ?? "")
    let phase = timeline["phase"]?.string ?? ""
    let title = style.bold(name) + ", \(phase), at \(clock(timeline["now"])) UTC"
    let sentences = (timeline["summary"]?.array ?? []).compactMap(\.string)
    return [title] + sentences.flatMap { lines($0, indent: 2) }
  }

  private var waiting: [String] {
    guard let waiting = timeline["waiting"] else { return [] }
    let stories = stories(in: waiting)
    return stories.isEmpty ? [] : ["", style.heading("What waits")] + stories
  }

  private var broadcasts: [String] {
    let all = timeline["broadcasts"]?.array ?? []
    guard !all.isEmpty else { return [] }
    let title =
      all.count > last ? "The last \(last) of \(all.count) broadcasts" : "All broadcasts kept"
    return ["", style.heading(title)]
      + all.suffix(last).flatMap { broadcast in
        let sentence = Text.harmless(broadcast["text"]?.string ?? "")
        let story = lines("\(clock(broadcast["sentAt"]))  \(sentence)", indent: 2, hanging: 12)
        return story + stories(in: broadcast)
      }
  }

  private func stories(in object: JSONValue) -> [String] {
    let triggers = object["triggers"]?.array ?? []
    var stories = triggers.flatMap {
      lines("- \($0["text"]?.string ?? "")", indent: 4, hanging: 6)
    }
    if let omitted = object["triggersLeftOut"]?.int64 {
      stories.append("    - \(omitted) more, which are not kept one by one.")
    }
    return stories
  }

  private func lines(_ text: String, indent: Int, hanging: Int? = nil) -> [String] {
    let rest = String(repeating: " ", count: hanging ?? indent)
    let first = String(repeating: " ", count: indent)
    let wrapped = HelpText.wrapped(Text.harmless(text), columns: 80 - rest.count)
    return wrapped.enumerated().map { index, line in (index == 0 ? first : rest) + line }
  }

  /// `10:41:28` of a date.
  private func clock(_ date: JSONValue?) -> String {
    String((date?.string ?? "").dropFirst(11).prefix(8))
  }
}
