/// How triggers make a content-state: one rule a field, and fields without one change only when the
/// whole state is set.
package struct MapperRule: Sendable, Equatable {
  package var field: String
  package var operation: MapperOperation

  package init(_ field: String, _ operation: MapperOperation) {
    self.field = field
    self.operation = operation
  }
}

package enum MapperOperation: Sendable, Equatable {
  /// An integer that goes up by one with each note, in whatever order they come.
  case count
  /// The value of the newest trigger that has one. One that happened earlier changes nothing.
  case latest(TriggerValue)
  /// The phase of the newest phase change.
  case phase
  /// The values of triggers as they came, the oldest dropped beyond the field's maximum.
  case list(TriggerValue)

  /// What a caller may set a counter to: no fewer than none, and so few that there is room for all
  /// that may come. One at the end of its type would refuse every further note.
  package static let settableCounts: ClosedRange<Int64> = 0...1_000_000_000
}

/// Which part of a trigger a rule takes.
package enum TriggerValue: Hashable, Sendable {
  case place
  case member
  case occurredAt
  /// A member of the trigger's `fields`.
  case field(String)
}

/// Which changes do not wait for the publisher's better moment.
///
/// Keep them rare, under about one in twenty: each spends budget at once.
package struct SignificanceRules: Sendable, Equatable {
  /// The trip's first note, which shows people that the card works.
  package var firstNote: Bool
  package var milestones: [Milestone]
  /// Phases whose beginning matters.
  package var phases: [String]
  /// Whether a caller's own `"significant": true` counts.
  package var heedsCallers: Bool

  package init(
    firstNote: Bool = true, milestones: [Milestone] = [], phases: [String] = [],
    heedsCallers: Bool = true
  ) {
    self.firstNote = firstNote
    self.milestones = milestones
    self.phases = phases
    self.heedsCallers = heedsCallers
  }
}

/// Numbers of a counter worth showing at once.
package struct Milestone: Sendable, Equatable {
  /// A field that the mapper counts.
  package var field: String
  package var at: [Int64]
  /// Every multiple of this too.
  package var every: Int64?

  package init(_ field: String, at: [Int64] = [], every: Int64? = nil) {
    self.field = field
    self.at = at
    self.every = every
  }

  /// Whether the counter passed such a number on its way.
  func isPassed(from old: Int64, to new: Int64) -> Bool {
    guard new > old else { return false }
    if at.contains(where: { old < $0 && $0 <= new }) { return true }
    guard let every else { return false }
    return new / every > old / every
  }
}
