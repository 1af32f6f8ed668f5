public import Clocks
package import HTTP
import JSON

/// An answer of APNs other than success.
///
/// The status always survives: a body that is missing, cut or not JSON costs only the reason.
public struct APNsRefusal: Error, Sendable, Hashable {
  /// 300 to 599.
  public let status: Int
  /// Nil when the body could not be read; then ``excerpt`` shows its beginning.
  public let reason: APNsReason?
  /// What the `retry-after` field asks for. Apple does not document it, proxies send it.
  public let retryAfter: Duration?
  /// Of a 410: when APNs found that the token is no longer valid. A token that was registered
  /// after this is alive.
  public let invalidSince: UnixTime?
  /// The beginning of a body that was not understood, fit for a log line.
  public let excerpt: String
  /// The `apns-id` or `apns-request-id` of the answer.
  public let answerID: String?
  /// The answer's `date`: APNs' own clock.
  public let serverDate: UnixTime?

  /// What it calls for.
  public var disposition: APNsDisposition { APNsDisposition(status: status, reason: reason) }

  /// Whether APNs may have acted on the request all the same, so that repeating it may show
  /// something twice: statuses from 500 on, unless APNs itself says that it is unavailable. A proxy
  /// that answers 502 or 504 does not know what became of the request.
  public var mayHaveActed: Bool {
    status >= 500 && !(status == 503 && (reason == .serviceUnavailable || reason == .shutdown))
  }

  /// - Parameter now: the wall clock when the answer came, for a `retry-after` that is a date.
  package init(_ response: HTTPResponse, now: UnixTime) {
    status = response.status
    let date = response.fields["date"].flatMap { HTTPDate.parse($0) }
    serverDate = date
    retryAfter = response.fields["retry-after"].flatMap { RetryAfter.parse($0, now: date ?? now) }
    answerID = response.fields["apns-id"] ?? response.fields["apns-request-id"]
    let body = RefusalBody(response.body)
    reason = body?.reason
    invalidSince = response.status == 410 ? body?.timestamp : nil
    excerpt = reason == nil ? BodyExcerpt.of(response.body) : ""
  }

  /// A refusal that did not come over a connection, for tests of what acts on one.
  public init(
    status: Int, reason: APNsReason?, retryAfter: Duration? = nil, invalidSince: UnixTime? = nil
  ) {
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
    self.invalidSince = invalidSince
    excerpt = ""
    answerID = nil
    serverDate = nil
  }
}

extension APNsRefusal: CustomStringConvertible {
  public var description: String {
    let what =
      if let reason {
        reason.text
      } else if excerpt.isEmpty {
        "without a reason"
      } else {
        "with the body \"\(excerpt)\""
      }
    let hint = retryAfter.map { ", retry after \($0.inSeconds) s" } ?? ""
    return "APNs refused the request: \(status) \(what)\(hint)."
  }
}

/// `{"reason":"…","timestamp":1790000000000}`, or as much of it as there is.
struct RefusalBody {
  let reason: APNsReason
  /// From milliseconds since 1970. Nil for times before APNs existed: such a number is something
  /// else, seconds perhaps, and would keep dead tokens alive.
  let timestamp: UnixTime?

  init?(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, let text = try? JSONText(validating: bytes),
      let word = text.root["reason"]?.string
    else { return nil }
    reason = APNsReason(word)
    let milliseconds = text.root["timestamp"]?.number?.int64
    let firstYear: Int64 = 1_230_768_000_000  // 2009-01-01
    let lastYear: Int64 = 4_102_444_800_000  // 2100-01-01
    timestamp = milliseconds.flatMap {
      (firstYear..<lastYear).contains($0) ? UnixTime(milliseconds: $0) : nil
    }
  }
}

/// The beginning of a stranger's body, made safe for logs: short, printable, without anything that
/// is long enough to be a token.
enum BodyExcerpt {
  static let limit = 120
  /// No word of a reason is longer; every device token, channel ID or provider token is.
  private static let longestWord = 28

  static func of(_ body: [UInt8]) -> String {
    var output: [UInt8] = []
    var word: [UInt8] = []
    func endWord() {
      output += word.count > longestWord ? Array("[\(word.count) characters]".utf8) : word
      word.removeAll(keepingCapacity: true)
    }
    for byte in body.prefix(1_024) where output.count < limit {
      if isWordByte(byte) {
        word.append(byte)
      } else {
        endWord()
        output.append((0x20...0x7E).contains(byte) ? byte : UInt8(ascii: "."))
      }
    }
    endWord()
    return String(decoding: output.prefix(limit), as: UTF8.self)
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"),
      UInt8(ascii: "="), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
