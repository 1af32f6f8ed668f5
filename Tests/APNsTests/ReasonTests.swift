import Clocks
import HTTP
import Testing

@testable import APNs

private let now = UnixTime(wholeSeconds: 1_790_000_000)

private func refusal(_ status: Int, _ body: String, _ fields: HTTPFields = [:]) -> APNsRefusal {
  APNsRefusal(HTTPResponse(status: status, fields: fields, body: Array(body.utf8)), now: now)
}

@Suite struct `A reason` {
  @Test func `is read from its word and written back`() {
    for entry in APNsReason.catalogue {
      #expect(APNsReason(entry.text) == entry.reason)
      #expect(entry.reason.text == entry.text)
      #expect(entry.reason.label == entry.text)
      #expect(entry.reason.documentedStatus == entry.status)
    }
    #expect(Set(APNsReason.catalogue.map(\.text)).count == 41)
  }

  @Test func `has a second spelling where Apple has`() {
    #expect(APNsReason("Service Unavailable") == .serviceUnavailable)
    #expect(APNsReason("BadEnvironmentKeyInToken") == .badEnvironmentKeyIDInToken)
  }

  @Test func `that nobody knows keeps its word, but not as a label`() {
    let reason = APNsReason("badDeviceToken")
    #expect(reason == .unknown("badDeviceToken"))
    #expect(reason.text == "badDeviceToken")
    #expect(reason.label == "other")
    #expect(reason.documentedStatus == nil)
  }
}

@Suite struct `What a refusal calls for` {
  @Test(arguments: [
    (400, "BadCollapseId", APNsDisposition.fixRequest), (400, "BadDeviceToken", .dropToken),
    (400, "DeviceTokenNotForTopic", .dropToken), (400, "IdleTimeout", .reconnect),
    (400, "TopicDisallowed", .fixRequest), (403, "BadCertificate", .fixCredentials),
    (403, "BadCertificateEnvironment", .fixCredentials),
    (403, "ExpiredProviderToken", .newProviderToken), (403, "Forbidden", .fixCredentials),
    (403, "InvalidProviderToken", .fixCredentials),
    (403, "MissingProviderToken", .fixCredentials), (403, "UnrelatedKeyIdInToken", .reconnect),
    (403, "BadEnvironmentKeyIdInToken", .fixCredentials),
    (403, "BadEnvironmentKeyInToken", .fixCredentials), (403, "TopicMismatch", .fixCredentials),
    (404, "BadPath", .fixRequest), (405, "MethodNotAllowed", .fixRequest),
    (410, "ExpiredToken", .dropToken), (410, "Unregistered", .dropToken),
    (413, "PayloadTooLarge", .fixRequest), (400, "PayloadTooLarge", .fixRequest),
    (429, "TooManyProviderTokenUpdates", .keepProviderToken),
    (429, "TooManyRequests", .throttled), (500, "InternalServerError", .retryLater),
    (503, "ServiceUnavailable", .retryLater), (503, "Service Unavailable", .retryLater),
    (503, "Shutdown", .reconnect), (400, "FeatureNotEnabled", .enableBroadcasts),
    (400, "ChannelNotRegistered", .channelGone),
    (400, "CannotCreateChannelConfig", .channelQuotaReached),
    (400, "BadChannelId", .fixRequest), (400, "SomethingNew", .fixRequest),
    (403, "SomethingNew", .fixCredentials), (410, "SomethingNew", .dropToken),
    (429, "SomethingNew", .throttled), (502, "SomethingNew", .retryLater),
  ])
  func `follows Apple's table`(status: Int, word: String, expected: APNsDisposition) {
    #expect(refusal(status, #"{"reason":"\#(word)"}"#).disposition == expected)
  }

  @Test func `follows the status when the reason contradicts it`() {
    #expect(refusal(503, #"{"reason":"BadDeviceToken"}"#).disposition == .retryLater)
    #expect(refusal(429, #"{"reason":"Unregistered"}"#).disposition == .throttled)
    #expect(refusal(400, #"{"reason":"Unregistered"}"#).disposition == .fixRequest)
    #expect(refusal(400, #"{"reason":"InternalServerError"}"#).disposition == .fixRequest)
  }

  @Test(arguments: [
    (400, APNsDisposition.fixRequest), (403, .fixCredentials), (404, .fixRequest),
    (410, .dropToken), (429, .throttled), (500, .retryLater), (502, .retryLater),
    (302, .fixRequest),
  ])
  func `follows the status when there is no body`(status: Int, expected: APNsDisposition) {
    #expect(refusal(status, "").disposition == expected)
  }
}

@Suite struct `A refusal` {
  @Test(arguments: [
    "", "{", #"{"reason":7}"#, #"["reason"]"#, "<html>Bad Gateway</html>", #"{"reason""#,
    #"{"reason":"A","reason":"B"}"#, "\u{FEFF}{}",
  ])
  func `keeps its status whatever the body is`(body: String) {
    let refusal = refusal(502, body)
    #expect(refusal.status == 502)
    #expect(refusal.reason == nil)
    #expect(refusal.disposition == .retryLater)
    #expect(refusal.excerpt.isEmpty == body.isEmpty)
  }

  @Test func `of a dead token reads milliseconds`() {
    let dead = refusal(410, #"{"reason":"Unregistered","timestamp":1789999940123}"#)
    #expect(dead.invalidSince == UnixTime(milliseconds: 1_789_999_940_123))
    #expect(dead.reason == .unregistered)
  }

  @Test func `takes no seconds for milliseconds`() {
    #expect(refusal(410, #"{"reason":"Unregistered","timestamp":1789999940}"#).invalidSince == nil)
    #expect(refusal(410, #"{"reason":"Unregistered","timestamp":-1}"#).invalidSince == nil)
    #expect(refusal(410, #"{"reason":"Unregistered","timestamp":"1"}"#).invalidSince == nil)
    #expect(refusal(410, #"{"reason":"Unregistered"}"#).invalidSince == nil)
    #expect(
      refusal(400, #"{"reason":"BadTopic","timestamp":1789999940123}"#).invalidSince == nil)
  }

  @Test func `shows a strange body without its secrets`() {
    let token = String(repeating: "0123456789abcdef", count: 4)
    let shown = refusal(500, "<p>token \(token)\u{7}\nfailed</p>").excerpt
    #expect(shown == "<p>token [64 characters]..failed</p>")
    #expect(refusal(500, String(repeating: "a b ", count: 900)).excerpt.utf8.count == 120)
  }

  @Test func `reads how long to wait`() {
    let body = #"{"reason":"TooManyRequests"}"#
    #expect(refusal(429, body, ["retry-after": "2"]).retryAfter == .seconds(2))
    #expect(refusal(429, body, ["retry-after": "soon"]).retryAfter == nil)
    // The date is read by the answer's own clock where it has one.
    let dated: HTTPFields = [
      "date": "Sun, 06 Nov 1994 08:49:37 GMT", "retry-after": "Sun, 06 Nov 1994 08:49:41 GMT",
    ]
    let refused = refusal(429, body, dated)
    #expect(refused.retryAfter == .seconds(4))
    #expect(refused.serverDate == UnixTime(wholeSeconds: 784_111_777))
  }

  @Test func `says what it was`() {
    #expect(
      "\(refusal(429, #"{"reason":"TooManyRequests"}"#, ["retry-after": "2"]))"
        == "APNs refused the request: 429 TooManyRequests, retry after 2.0 s.")
    #expect("\(refusal(503, ""))" == "APNs refused the request: 503 without a reason.")
  }
}

@Suite struct `A date of HTTP` {
  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
  ])
  func `has three forms`(text: String) {
    #expect(HTTPDate.parse(text) == UnixTime(wholeSeconds: 784_111_777))
  }

  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", Int64(0)), ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
    ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
    ("Mon, 30 Nov 2026 12:00:00 GMT", 1_796_040_000),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
  ])
  func `is counted from 1970`(text: String, seconds: Int64) {
    #expect(HTTPDate.parse(text) == UnixTime(wholeSeconds: seconds))
  }

  @Test func `may be as far from another as the calendar goes`() {
    let (first, last) = ("Sun, 01 Jan 1950 00:00:00 GMT", "Wed, 31 Dec 2200 23:59:59 GMT")
    #expect(HTTPDate.parse(first).flatMap { RetryAfter.parse(last, now: $0) } == nil)
    #expect(HTTPDate.parse(last).flatMap { RetryAfter.parse(first, now: $0) } == .zero)
  }

  @Test(arguments: [
    "", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
    "Sun, 6x Nov 1994 08:49:37 GMT",
    "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
    "Sun, 32 Nov 1994 08:49:37 GMT",
    // Beyond what a time holds.
    "Sat, 06 Nov 9999 08:49:37 GMT", "Thu, 06 Nov 2201 08:49:37 GMT",
    "Sat, 06 Nov 0000 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 -8:49:37 GMT",
  ])
  func `is refused in any other form`(text: String) {
    #expect(HTTPDate.parse(text) == nil)
  }
}

@Suite struct `A wait that APNs asks for` {
  private let now = UnixTime(wholeSeconds: 784_111_777)

  @Test(arguments: [
    ("0", Duration.zero), ("2", .seconds(2)), ("86400", .seconds(86_400)),
    ("Sun, 06 Nov 1994 08:49:40 GMT", .seconds(3)), ("Sun, 06 Nov 1994 08:00:00 GMT", .zero),
  ])
  func `is seconds or a date`(text: String, expected: Duration) {
    #expect(RetryAfter.parse(text, now: now) == expected)
  }

  @Test(arguments: [
    "", "-1", "1.5", "86401", "99999999999999999999", "2 s", " 2", "soon", "٢",
    "Tue, 08 Nov 1994 08:49:37 GMT",
  ])
  func `is ignored when it is junk`(text: String) {
    #expect(RetryAfter.parse(text, now: now) == nil)
  }
}
