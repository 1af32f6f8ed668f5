import HTTP
import Randomness
import Testing

/// Heads are read back by nghttp2's own decoder, which ends the connection at the first byte that
/// breaks HPACK's rules.
@Suite struct `The head encoder` {
  @Test func `says what repeats in a few bytes and what does not as it is`() throws {
    var pipe = SessionPipe()
    let template = try pushes(topic: "org.example.walk", volatile: ["apns-id"])
    var sizes: [Int] = []
    for number in 0..<4 {
      let slot = pipe.client.prepare(
        template, values: ["/3/device/\(number)", "id-\(number)"], body: [])
      #expect(pipe.client.submit(slot))
      let bytes = try pipe.takeFromClient()
      sizes.append(bytes.count)
      // In no head does the value of a path or the text of a token enter the table.
      try pipe.deliverToServer(bytes)
    }
    #expect(sizes[0] > sizes[2])
    #expect(sizes[2] == sizes[3])
    // Behind the first request: a frame's head, a byte for each stable field, three for the known
    // name of `apns-id`, the token, and the two values.
    #expect(sizes[3] < 9 + 8 + 3 + 24 + 14 + 6, "\(sizes)")
    #expect(pipe.requests.map(\.request.path) == (0..<4).map { "/3/device/\($0)" })
    #expect(pipe.requests.map(\.request.fields["apns-id"]) == (0..<4).map { "id-\($0)" })
    #expect(
      pipe.requests.allSatisfy { $0.request.fields["authorization"] == "bearer abc.def.ghi" })
  }

  @Test func `keeps to the table size that the peer sets, however often`() throws {
    for seed in Damage.seeds {
      var random = SplitMix64(seed: UInt64(seed))
      let first = UInt32(Int.random(in: 0...200, using: &random) * 25)
      var pipe = SessionPipe(server: HTTP2ServerSession(settings: [.headerTableSize(first)]))
      let templates = try (0..<12).map { number in
        try pushes(
          topic: String(repeating: "t", count: 1 + number * Int.random(in: 0...90, using: &random)),
          volatile: number % 3 == 0 ? ["apns-id", "x-\(number)"] : ["apns-id"])
      }
      var sent: [HTTPFields] = []
      for round in 0..<60 {
        let number = Int.random(in: 0..<templates.count, using: &random)
        var values: FieldValues = ["/3/device/\(round)", "id-\(round)"]
        var fields: HTTPFields = [
          "authorization": "bearer abc.def.ghi", "apns-topic": topics(templates[number]),
        ]
        fields.append("apns-id", "id-\(round)")
        if number % 3 == 0 {
          let value = String(
            repeating: "v", count: Int.random(in: 0...300, using: &random))
          values.append(value)
          fields.append("x-\(number)", value)
        }
        let slot = pipe.client.prepare(templates[number], values: values, body: [])
        #expect(pipe.client.submit(slot))
        sent.append(fields)
        if Int.random(in: 0..<8, using: &random) == 0 {
          // Two changes before the client hears of any: the lower one counts too.
          for _ in 0..<Int.random(in: 1...2, using: &random) {
            pipe.server.submit([
              .headerTableSize(UInt32(Int.random(in: 0...6_000, using: &random)))
            ])
          }
        }
        if Int.random(in: 0..<3, using: &random) == 0 { try pipe.settle() }
      }
      try pipe.settle()
      #expect(pipe.server.fault == nil, "seed \(seed)")
      #expect(pipe.requests.map(\.request.fields) == sent, "seed \(seed)")
    }
  }

  @Test func `refuses heads that do not fit in a frame`() throws {
    let long = String(repeating: "v", count: RequestTemplate.headLimitBytes)
    #expect(throws: ExchangeFailure.self) {
      try RequestTemplate(method: "GET", authority: "a", path: "/", fields: ["x": long])
    }
    let template = try pushes(topic: "t", volatile: [])
    #expect(!template.accepts(FieldValues("/" + long)))
    // The longest that is taken is sent whole.
    let room = RequestTemplate.headLimitBytes - 1_000
    var pipe = SessionPipe()
    let path = "/" + String(repeating: "p", count: room)
    #expect(template.accepts(FieldValues(path)))
    let slot = pipe.client.prepare(template, values: FieldValues(path), body: [1])
    #expect(pipe.client.submit(slot))
    try pipe.settle()
    #expect(pipe.server.fault == nil)
  }

  private func pushes(topic: String, volatile: [String]) throws -> RequestTemplate {
    try RequestTemplate(
      method: "POST", authority: topic, path: nil,
      fields: ["authorization": "bearer abc.def.ghi", "apns-topic": topic], volatile: volatile)
  }

  private func topics(_ template: RequestTemplate) -> String {
    // The summary ends with the authority, which is the topic here.
    String(template.summary.split(separator: " ").last ?? "")
  }
}
