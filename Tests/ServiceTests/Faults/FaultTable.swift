import Foundation
import Testing
import Transport

/// What the service went through in one test, and what came of it.
struct FaultRow: Sendable {
  let fault: String
  /// How often it was done to the service.
  let times: Int
  /// The longest time in which no card of a trip got a broadcast though notes flowed, real time.
  let silence: Duration
  /// What was acknowledged.
  let notes: Int
  /// Acknowledged, and on no card in the end.
  let lost: Int
  /// Counted on a card without being a note of its own.
  let doubled: Int
}

/// Prints what the faults of a suite did, once its tests are over.
struct FaultTable: SuiteTrait, TestScoping {
  private static let rows = Lock<[FaultRow]>([])

  static func add(_ row: FaultRow) { rows.withLock { $0.append(row) } }

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    defer { print(Self.text) }
    try await function()
  }

  private static var text: String {
    let rows = rows.withLock { $0 }.sorted { $0.fault < $1.fault }
    let lines = rows.map { row in
      line(
        row.fault, "\(row.times)", String(format: "%.1f s", row.silence.inSeconds), "\(row.notes)",
        "\(row.lost)", "\(row.doubled)")
    }
    let head = line("fault", "times", "no broadcast", "notes", "lost", "doubled")
    return ([head] + lines).joined(separator: "\n")
  }

  private static func line(_ fault: String, _ facts: String...) -> String {
    let widths = [6, 13, 7, 5, 8]
    return zip(facts, widths).reduce(fault.padding(toLength: 58, withPad: " ", startingAt: 0)) {
      $0 + String(repeating: " ", count: max(1, $1.1 - $1.0.count)) + $1.0
    }
  }
}

extension Trait where Self == FaultTable {
  static var faultTable: FaultTable { FaultTable() }
}
