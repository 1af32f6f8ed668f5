package import Clocks

/// Counts of what was asked and answered since the start.
package struct SimulatorStatistics: Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case devicePush, broadcast, channelManagement
  }

  package private(set) var requests: [Kind: Int] = [:]
  /// By status.
  package private(set) var answers: [Int: Int] = [:]
  package private(set) var reasons: [Reason: Int] = [:]
  /// Accepted pushes and broadcasts by priority.
  package private(set) var acceptedByPriority: [Int: Int] = [:]
  /// Those of them that went to single devices.
  package private(set) var devicePushesByPriority: [Int: Int] = [:]
  package internal(set) var bytesReceived = 0

  mutating func count(_ answer: SimulatedAnswer, request: SimulatedRequest, port: SimulatedPort) {
    let kind: Kind =
      port == .management
      ? .channelManagement : request.path.hasPrefix("/3/") ? .devicePush : .broadcast
    requests[kind, default: 0] += 1
    answers[answer.status, default: 0] += 1
    bytesReceived += request.body.count
    if let reason = answer.reason { reasons[reason, default: 0] += 1 }
    guard kind != .channelManagement, answer.reason == nil else { return }
    let priority = request.value("apns-priority").flatMap(RequestSyntax.priority) ?? 10
    acceptedByPriority[priority, default: 0] += 1
    if kind == .devicePush { devicePushesByPriority[priority, default: 0] += 1 }
  }
}

/// The newest complaints, and the number of all: texts for the person who reads a failed test.
package struct ComplaintLog: Sendable {
  package struct Complaint: Sendable, Equatable {
    package var at: UnixTime
    package var text: String
  }

  package private(set) var count = 0
  package private(set) var recent: [Complaint] = []
  private static let limit = 500

  mutating func add(_ text: String, _ now: UnixTime) {
    count += 1
    recent.append(Complaint(at: now, text: text))
    if recent.count > Self.limit { recent.removeFirst(Self.limit / 4) }
  }
}
