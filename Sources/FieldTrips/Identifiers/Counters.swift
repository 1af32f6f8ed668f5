/// A trip's count of content-state changes. Zero is the state it was created with.
package struct Revision: Hashable, Comparable, Sendable {
  package let number: Int64

  package init(_ number: Int64) {
    precondition(number >= 0, "a revision is 0 or more, not \(number)")
    self.number = number
  }

  package static let initial = Revision(0)
  /// Of the content-state that a trip is created with, and that its members join with.
  package static let first = Revision(1)
  package var next: Revision { Revision(number + 1) }

  /// Changes up to this one that no accepted broadcast at priority 10 carries. The first state is
  /// none: members join with it.
  package func changes(since published: Revision) -> Int64 {
    max(0, number - max(published.number, Self.first.number))
  }

  package static func < (left: Revision, right: Revision) -> Bool { left.number < right.number }
}

extension Revision: CustomStringConvertible {
  package var description: String { String(number) }
}

/// A partition's fencing counter: raised by each node that takes the partition over, so that what
/// an owner before it still tries to write can be refused.
package struct Epoch: Hashable, Comparable, Sendable {
  package let number: Int64

  package init(_ number: Int64) {
    precondition(number >= 0, "an epoch is 0 or more, not \(number)")
    self.number = number
  }

  /// Before any node owned the partition.
  package static let none = Epoch(0)
  package var next: Epoch { Epoch(number + 1) }

  package static func < (left: Epoch, right: Epoch) -> Bool { left.number < right.number }
}

extension Epoch: CustomStringConvertible {
  package var description: String { String(number) }
}
