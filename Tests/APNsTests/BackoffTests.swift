import Clocks
import Testing

@testable import APNs

@Suite struct `The wait before a new connection` {
  @Test func `is nothing at first and after a success`() {
    var random = SystemRandomNumberGenerator()
    var backoff = ReconnectBackoff()
    #expect(backoff.nextAttempt == .distantPast)
    backoff.failed(at: .origin, using: &random)
    #expect(backoff.nextAttempt > .origin)
    backoff.succeeded()
    #expect(backoff.nextAttempt == .distantPast)
  }

  @Test func `doubles from 100 ms to 4 s, and a quarter more at most`() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<100 {
      var backoff = ReconnectBackoff()
      var expected = 0.1
      for _ in 0..<12 {
        backoff.failed(at: .origin, using: &random)
        let wait = backoff.nextAttempt.seconds
        #expect(wait >= expected && wait <= expected * 1.25)
        expected = min(expected * 2, 4)
      }
    }
  }
}

@Suite struct `The gate of an app's credentials` {
  private let invalid = APNsRefusal(status: 403, reason: .invalidProviderToken)

  @Test func `closes at a refusal, lets a probe through each minute, opens at an acceptance`() {
    var gate = CredentialGate()
    var closings: [Bool] = []
    var passes: [APNsRefusal?] = [gate.refusal(at: .origin)]
    closings.append(gate.refused(invalid, at: .origin))
    closings.append(gate.refused(invalid, at: .origin))
    for second in [59, 60, 61] { passes.append(gate.refusal(at: .origin + .seconds(second))) }
    gate.accepted()
    passes.append(gate.refusal(at: .origin + .seconds(62)))
    #expect(closings == [true, false])
    #expect(passes == [nil, invalid, nil, invalid, nil])
  }

  @Test func `stays open for what is not about credentials`() {
    var gate = CredentialGate()
    for refusal in [
      APNsRefusal(status: 403, reason: .expiredProviderToken),
      APNsRefusal(status: 403, reason: nil),
      APNsRefusal(status: 403, reason: .unknown("NewWord")),
      APNsRefusal(status: 429, reason: .tooManyRequests),
      APNsRefusal(status: 400, reason: .badDeviceToken),
    ] {
      let closed = gate.refused(refusal, at: .origin)
      #expect(!closed, "\(refusal)")
    }
    let passed = gate.refusal(at: .origin)
    #expect(passed == nil)
  }
}

@Suite struct `A queue of those who wait` {
  @Test func `keeps the order, whoever leaves from the middle`() {
    var random = SystemRandomNumberGenerator()
    var queue = WaitQueue<Int>()
    var expected: [Int] = []
    for id in 0..<5_000 {
      queue.append(id, id: id)
      expected.append(id)
      if Bool.random(using: &random) {
        let first = queue.popFirst()
        #expect(first == expected.removeFirst())
      }
      if Bool.random(using: &random), let leaver = expected.randomElement() {
        let left = queue.remove(id: leaver)
        let again = queue.remove(id: leaver)
        #expect(left == leaver && again == nil)
        expected.removeAll { $0 == leaver }
      }
      #expect(queue.count == expected.count)
    }
    for id in expected {
      let first = queue.popFirst()
      #expect(first == id)
    }
    #expect(queue.isEmpty)
  }
}
