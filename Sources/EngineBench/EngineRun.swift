package import JSON

/// What one run of the engine says of itself, as its process tells it to the one that started it.
package struct EngineRun: Sendable, Equatable {
  package var accepted = 0
  package var refused = 0
  /// Without an answer.
  package var failed = 0
  package var firstFailure = ""
  /// From before the connection is opened to the last answer.
  package var seconds = 0.0
  /// What the heap had handed out after a fifth of the requests, and at the last one.
  package var warmHeapBytes = 0
  package var lastHeapBytes = 0
  /// The most memory that the process ever held, as the kernel counts it.
  package var peakBytes = 0

  package init() {}

  package var heapGrowthBytes: Int { lastHeapBytes - warmHeapBytes }

  package var json: JSONValue {
    [
      "accepted": .number(JSONNumber(accepted)), "refused": .number(JSONNumber(refused)),
      "failed": .number(JSONNumber(failed)), "firstFailure": .string(firstFailure),
      "seconds": .number(JSONNumber(seconds)),
      "warmHeapBytes": .number(JSONNumber(warmHeapBytes)),
      "lastHeapBytes": .number(JSONNumber(lastHeapBytes)),
      "peakBytes": .number(JSONNumber(peakBytes)),
    ]
  }

  /// - Returns: nil when something is missing.
  package init?(_ json: JSONValue) {
    func whole(_ key: String) -> Int? { json[key]?.int64.map { Int($0) } }
    guard let accepted = whole("accepted"), let refused = whole("refused"),
      let failed = whole("failed"), let firstFailure = json["firstFailure"]?.string,
      let seconds = json["seconds"]?.double, let warmHeap = whole("warmHeapBytes"),
      let lastHeap = whole("lastHeapBytes"), let peak = whole("peakBytes")
    else { return nil }
    self.accepted = accepted
    self.refused = refused
    self.failed = failed
    self.firstFailure = firstFailure
    self.seconds = seconds
    warmHeapBytes = warmHeap
    lastHeapBytes = lastHeap
    peakBytes = peak
  }
}
