import Clocks
import Foundation
import HTTP
import JSON
import Testing

@testable import APNs

/// Answers of APNs with random damage: the status survives, no secret gets into a log line, and
/// nothing is concluded from what cannot be read.
@Suite struct `Damaged answers of APNs` {
  private static let seeds =
    0..<(ProcessInfo.processInfo.environment["FIELDCAST_FUZZ_SEEDS"].flatMap { Int($0) } ?? 400)

  private struct Dice: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let word = ((state >> ((state >> 59) + 5)) ^ state) &* 12_605_985_483_714_917_081
      return (word >> 43) ^ word
    }

    mutating func damaged(_ good: String) -> [UInt8] {
      var bytes = Array(good.utf8)
      for _ in 0..<Int.random(in: 1...5, using: &self) where bytes.count > 1 {
        let place = Int.random(in: 0..<bytes.count, using: &self)
        switch Int.random(in: 0..<5, using: &self) {
        case 0: bytes[place] = .random(in: 0...255, using: &self)
        case 1: bytes.remove(at: place)
        case 2:
          bytes.insert(Array("\"{}[]:,\\".utf8)[Int.random(in: 0..<8, using: &self)], at: place)
        case 3: bytes.removeSubrange(place...)
        default: bytes.insert(contentsOf: bytes[..<place], at: place)
        }
      }
      return bytes
    }
  }

  private static let secret = String(repeating: "0123456789abcdef", count: 4)

  @Test func `keep their status, and show nothing that could be a secret`() async {
    let good = #"{"reason":"Unregistered","timestamp":1789999940123,"token":"\#(Self.secret)"}"#
    for seed in Self.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var dice = Dice(state: UInt64(seed))
      for _ in 0..<4 {
        let body = dice.damaged(good)
        let status = Int.random(in: 300...599, using: &dice)
        let fields: HTTPFields = [
          "retry-after": String(decoding: dice.damaged("120"), as: UTF8.self),
          "date": String(decoding: dice.damaged("Sun, 06 Nov 1994 08:49:37 GMT"), as: UTF8.self),
        ]
        let refusal = APNsRefusal(
          HTTPResponse(status: status, fields: fields, body: body), now: UnixTime(wholeSeconds: 0))
        #expect(refusal.status == status)
        #expect(refusal.excerpt.utf8.count <= 120, "seed \(seed)")
        #expect(refusal.excerpt.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "seed \(seed)")
        #expect(!refusal.excerpt.contains(Self.secret.prefix(29)), "seed \(seed)")
        #expect(refusal.reason == nil || (try? JSONText(validating: body)) != nil, "seed \(seed)")
        #expect(refusal.invalidSince == nil || status == 410, "seed \(seed)")
        #expect(refusal.retryAfter ?? .zero <= RetryAfter.longest, "seed \(seed)")
        if refusal.disposition == .dropToken {
          #expect(status == 410 || refusal.reason != nil, "seed \(seed)")
        }
      }
    }
  }

  @Test func `do not become channels`() async {
    for seed in Self.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var dice = Dice(state: UInt64(seed))
      for _ in 0..<4 {
        let list = dice.damaged(#"{"channels":["dHN0LXNyY2gtY2hubA==","QUJD"]}"#)
        let response = HTTPResponse(status: 200, fields: [:], body: list)
        if let channels = try? ChannelManagement.channels(response, host: "h") {
          // Whatever was read stands there, and the text is JSON to its last byte.
          #expect((try? JSONText(validating: list)) != nil, "seed \(seed)")
          #expect(channels.allSatisfy { !$0.text.isEmpty }, "seed \(seed)")
        }
        let policy = dice.damaged(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
        let answer = HTTPResponse(status: 200, fields: [:], body: policy)
        guard let channel = ChannelID("QUJD") else { return }
        if let storage = try? ChannelManagement.storage(answer, of: channel, host: "h") {
          let root = (try? JSONText(validating: policy))?.root
          #expect(root?["message-storage-policy"]?.number?.int64 == Int64(storage.rawValue))
        }
      }
    }
  }

  @Test func `in a GOAWAY are no refusal of credentials unless they say so`() async {
    for seed in Self.seeds {
      // Others have tests to run on this thread too.
      await Task.yield()
      var dice = Dice(state: UInt64(seed))
      let data = dice.damaged(#"{"reason":"BadCertificate"}"#)
      let announcement = GoAway(lastStreamID: 0, errorCode: 0, debugData: data)
      if let refusal = announcement.credentialsRefusal {
        #expect(refusal.reason == announcement.reason)
        #expect(String(decoding: data, as: UTF8.self).contains(refusal.reason?.text ?? "?"))
      }
    }
  }
}
