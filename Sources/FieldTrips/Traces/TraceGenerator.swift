/// Invents a group's day in the field, for whoever has no recorded one.
///
/// Every observer is followed alone. They arrive, stop somewhere, and capture a few things there
/// with short gaps: a bout. Then they walk on, and the longer the day's plan gives the group for
/// walking or lunch, the later the next bout. Some press the shutter several times on one find, so
/// that captures stack at one instant; some note whole minutes only. What makes real days hard for a
/// publisher comes out of that: bursts, plateaus, lulls, and a few people who do most of it.
///
/// The numbers in ``Shape`` were fitted to recorded group events of two to seventeen hours. Nothing
/// of a recorded event is in them but such numbers.
package struct TraceGenerator: Sendable {
  package let shape: Shape
  private let seed: UInt64
  private var random: TraceRandom

  package init(_ shape: Shape, seed: UInt64) {
    self.shape = shape
    self.seed = seed
    random = TraceRandom(seed: seed)
  }

  /// The trace of this shape and seed: the same on every machine.
  package static func trace(_ shape: Shape, seed: UInt64) -> CaptureTrace {
    var generator = TraceGenerator(shape, seed: seed)
    return generator.trace()
  }

  private mutating func trace() -> CaptureTrace {
    var notes: [Note] = []
    for person in 0..<shape.observers { notes += day(of: person) }
    // Whole seconds collide, so ties are broken by person, and by order within a person's day.
    notes.sort { ($0.second, $0.person, $0.order) < ($1.second, $1.person, $1.order) }
    return CaptureTrace(
      name: "\(shape.name)-\(seed)", kind: .generated(seed: seed), captures: labelled(notes))
  }

  private struct Note {
    var second: Int
    var person: Int
    var order: Int
    var place: Int
  }

  /// Everything that one person captures, in order of time.
  private mutating func day(of person: Int) -> [Note] {
    let notesMinutesOnly = random.happens(percent: shape.minutesOnlyPercent)
    let slowness = random.draw(shape.slownessPercent)
    var second = shape.durationSeconds * random.draw(shape.arrivalPermille) / 1000
    let leaves = shape.durationSeconds * random.draw(shape.departurePermille) / 1000
    var walk = Walk(home: random.below(shape.places), stop: 0)

    var notes: [Note] = []
    while second < leaves {
      let place = place(of: walk, at: second)
      for _ in 0..<random.draw(shape.boutLength) {
        for _ in 0...height(ofStackAt: second) where second < leaves {
          let noted = notesMinutesOnly ? second - second % 60 : second
          notes.append(Note(second: noted, person: person, order: notes.count, place: place))
        }
        second += random.draw(shape.gapSeconds)
      }
      let pause = random.draw(shape.pauseSeconds) * slowness / shape.activityPercent(at: second)
      second = shape.nextActiveSecond(from: second + pause)
      walk.stop += random.happens(percent: shape.movesOnPercent) ? 1 : 0
    }
    return notes
  }

  /// How many further captures stand at the instant of one.
  private mutating func height(ofStackAt second: Int) -> Int {
    random.happens(percent: shape.stackPercent) ? random.draw(shape.stackHeight) : 0
  }

  private struct Walk {
    var home: Int
    var stop: Int
  }

  /// A group that travels together is at the place that the hour gives, with a few stragglers one
  /// place behind; people on their own wander from where they began.
  private mutating func place(of walk: Walk, at second: Int) -> Int {
    guard shape.travelsTogether else {
      return (walk.home + walk.stop) % shape.places
    }
    let ahead = second * shape.places / shape.durationSeconds
    let behind = random.happens(percent: 20) ? 1 : 0
    return min(max(ahead - behind, 0), shape.places - 1)
  }

  /// Numbers people and places in the order in which they first appear.
  private func labelled(_ notes: [Note]) -> [CaptureTrace.Capture] {
    var people: [Int: Int] = [:]
    var places: [Int: Int] = [:]
    let begin = notes.first?.second ?? 0
    return notes.map { note in
      let person = people[note.person] ?? people.count + 1
      people[note.person] = person
      let place = places[note.place] ?? places.count + 1
      places[note.place] = place
      return CaptureTrace.Capture(
        offsetSeconds: Double(note.second - begin), observer: "o\(person)", place: "Place \(place)")
    }
  }
}
