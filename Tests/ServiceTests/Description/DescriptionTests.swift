import FieldTripKit
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Testing

/// The description of the interface and the interface, held against each other both ways.
@Suite struct `The API's description` {
  @Test func `names every route and no other`() async throws {
    try await World.with { world in
      try await world.withService { caller, service in
        let document = try await APIDocument(from: caller)
        #expect(document.root["openapi"]?.string?.hasPrefix("3.1") == true)
        let described = document.operations.map(\.name)
        #expect(Set(described).count == described.count)
        // The dashboard's parts are its own business.
        let routes = service.routes.filter { !$0.path.hasPrefix("/dashboard/") }
        #expect(described.sorted() == routes.map { "\($0.method) \($0.path)" }.sorted())
        let ids = document.operations.compactMap { $0.value["operationId"]?.string }
        #expect(Set(ids).count == described.count)
      }
    }
  }

  @Test func `lists every problem that there is, with its status and meaning`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let document = try await APIDocument(from: caller)
        let schema = document.resolved(["$ref": "#/components/schemas/Problem"])
        let kinds = schema["properties"]?["type"]?["oneOf"]?.array ?? []
        let described = kinds.map {
          "\($0["const"]?.string ?? "") \($0["description"]?.string ?? "")"
        }
        let known = Service.knownProblems.map { "\($0.type) \($0.status): \($0.title)." }
        #expect(described.sorted() == known.sorted())
        #expect(Set(Service.knownProblems.map(\.type)).count == known.count)
        let codes = schema["properties"]?["errors"]?["items"]?["properties"]?["code"]?["enum"]
        #expect(codes?.array?.compactMap(\.string) == Problem.Code.allCases.map(\.rawValue))
      }
    }
  }

  @Test func `asks for the scopes that the service asks for`() async throws {
    let tokens = AccessScope.allCases.map { ($0, AccessToken()) }
    let list = try AccessList(
      parsing: tokens.map { $1.entry(name: $0.rawValue, scopes: [$0]) }.joined(separator: "\n"))
    try await World.with { world in
      try await world.withService({ $0.access = list }) { caller in
        let document = try await APIDocument(from: caller)
        for operation in document.operations where operation.path != "/v1/events" {
          let path = operation.path.replacing("{", with: "").replacing("}", with: "")
          let body = operation.method == "GET" ? nil : "{}"
          let stranger = try await caller.call(operation.method, path, body)
          #expect((stranger.status == 401) == !operation.scopes.isEmpty, "\(operation.name)")
          for (scope, token) in tokens {
            let answer = try await caller.call(
              operation.method, path, body, fields: ["authorization": "Bearer \(token.text)"])
            let isLetIn = operation.scopes.isEmpty || operation.scopes.contains(scope.rawValue)
            #expect((answer.status != 403) == isLetIn, "\(operation.name) with \(scope)")
            #expect(
              document.answer(answer.status, of: operation) != nil,
              "\(operation.name) answered \(answer.status)")
          }
        }
      }
    }
  }

  @Test func `has examples that the service takes, and describes its answers`() async throws {
    try await World.with(speed: 1) { world in
      try await world.withService { caller in
        let document = try await APIDocument(from: caller)
        // Events go on for ever; they have tests of their own.
        for operation in document.operations where operation.path != "/v1/events" {
          for (name, body) in operation.requests {
            let trial = try await Trial(operation, caller)
            let answer = try await trial.send(String(decoding: body.serialized(), as: UTF8.self))
            trial.check(answer, document, "\(operation.name), example \(name)")
          }
          if !operation.needsBody {
            let trial = try await Trial(operation, caller)
            trial.check(try await trial.send(nil), document, operation.name)
          }
        }
      }
    }
  }

  /// What an app's models could not read would be a wrong example, or a wrong model.
  @Test func `has answers that the kit's models read`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let document = try await APIDocument(from: caller)
        var problems = 0
        for operation in document.operations {
          for (status, answer) in operation.value["responses"]?.object?.elements ?? [] {
            let content = document.resolved(answer)["content"]?.object?.elements ?? []
            for (media, part) in content where media == "application/problem+json" {
              for (name, example) in part["examples"]?.object?.elements ?? [] {
                let problem = try Self.read(ProblemReply.self, example)
                #expect(problem.type == "urn:fieldcast:problem:\(name)")
                #expect("\(problem.status)" == status)
                problems += 1
              }
            }
          }
        }
        #expect(problems > 50)
        let trip = try Self.read(
          TripReply<FieldTripAttributes>.self, try document.example("createTrip", 201, "trip"))
        #expect(trip.name == "Heron mudflats" && trip.phase == .live)
        let joined = try Self.read(
          JoinReply<FieldTripAttributes>.self, try document.example("join", 200, "joined"))
        #expect(joined.member == "anna" && joined.reach == .channel)
      }
    }
  }

  private static func read<Reply: Decodable>(
    _ reply: Reply.Type, _ example: JSONValue
  ) throws -> Reply {
    try FieldcastCoding.decode(reply, from: Data((example["value"] ?? .null).serialized()))
  }
}

extension APIDocument {
  fileprivate func example(_ id: String, _ status: Int, _ name: String) throws -> JSONValue {
    let operation = try #require(operations.first { $0.value["operationId"]?.string == id })
    let content = answer(status, of: operation)?["content"]?["application/json"]
    return try #require(content?["examples"]?[name])
  }
}

/// One operation, with everything there that its path and its examples speak of.
private struct Trial {
  /// The trip that the examples name.
  static let sample = "fe1c5ddc-f9f9-473b-841e-58b541e739fa"

  let operation: APIDocument.Operation
  let caller: TestCaller
  let trip: String
  let path: String

  init(_ operation: APIDocument.Operation, _ caller: TestCaller) async throws {
    self.operation = operation
    self.caller = caller
    trip = try await caller.createTrip().id
    let join = #"{"member":"anna","osVersion":"18.2","activityID":"card-1","activityToken":"00"}"#
    let joined = try await caller.call("POST", "/v1/trips/\(trip)/members", join)
    try #require(joined.status == 200)
    var path = operation.path.replacing("{trip}", with: trip).replacing("{member}", with: "anna")
      .replacing("{activity}", with: "card-1")
    if path.contains("{id}") {
      let later = Date(timeIntervalSinceNow: 86_400).ISO8601Format()
      let id = try await caller.notify(
        #"{"to":{"trip":"\#(trip)"},"alert":{"body":"Lunch"},"sendAt":"\#(later)"}"#)
      path = path.replacing("{id}", with: id)
    }
    self.path = path
  }

  func send(_ body: String?) async throws -> TestCaller.Answer {
    try await caller.call(operation.method, path, body?.replacing(Self.sample, with: trip))
  }

  func check(_ answer: TestCaller.Answer, _ document: APIDocument, _ what: String) {
    #expect((200..<300).contains(answer.status), "\(what): \(answer.text)")
    guard let described = document.answer(answer.status, of: operation) else {
      Issue.record("\(what): \(answer.status) is not described")
      return
    }
    for (name, field) in described["headers"]?.object?.elements ?? []
    where field["required"]?.bool == true {
      #expect(answer.fields[name] != nil, "\(what): no \(name)")
    }
    guard let content = described["content"]?.object?.elements.first else {
      #expect(answer.text.isEmpty, "\(what): \(answer.text)")
      return
    }
    #expect(answer.fields["content-type"]?.hasPrefix(content.key) == true, "\(what)")
    guard let schema = content.value["schema"], content.key == "application/json" else { return }
    #expect(document.faults(of: answer.body, by: schema) == [], "\(what)")
  }
}
