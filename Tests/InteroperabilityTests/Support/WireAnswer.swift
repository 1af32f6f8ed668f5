import Foundation
import JSON
import Testing

/// What a client says it got.
struct WireAnswer: Decodable, Sendable {
  var status: Int
  /// By lower-case name.
  var fields: [String: String]
  var body: String

  /// Reads what `curl --include` prints.
  init?(curl text: String) {
    guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0] == "HTTP/2", let status = Int(words[1]) else { return nil }
    self.status = status
    fields = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      fields[parts[0].lowercased()] = parts.last.map { $0.drop { $0 == " " } }.map(String.init)
    }
    body = String(text[end.upperBound...])
  }

  /// Holds the answer against what APNs has to say.
  func expect(_ expected: WireCase, hasHistory: Bool) {
    let isAccepted = expected.needsHistory && !hasHistory
    let status = isAccepted ? 200 : expected.status
    let reason = isAccepted ? nil : expected.reason
    #expect(self.status == status, "\(expected.name): \(self.status) \(body)")
    let said = try? JSONValue.parse(Array(body.utf8))
    #expect(said?["reason"]?.string == reason, "\(expected.name)")
    for name in expected.answers where !isAccepted || name != "content-type" {
      #expect(fields[name]?.isEmpty == false, "\(expected.name) lacks \(name)")
    }
    let sentID = expected.fields.first { $0.name == "apns-id" && $0.value.utf8.count == 36 }
    if let sentID { #expect(fields["apns-id"] == sentID.value, "\(expected.name)") }
    let timestamp = status == 410 ? 1_790_000_000_123 as Int64 : nil
    #expect(said?["timestamp"]?.int64 == timestamp, "\(expected.name)")
    if reason == nil, expected.method != "GET" { #expect(body.isEmpty, "\(expected.name)") }
  }
}
