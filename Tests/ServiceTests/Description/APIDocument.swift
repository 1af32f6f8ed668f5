import FieldcastServer
import Foundation
import JSON
import Testing

/// The description of the interface, as a running service hands it out.
struct APIDocument {
  struct Operation {
    let method: String
    let path: String
    let value: JSONValue

    var name: String { "\(method) \(path)" }

    /// Scopes of which one is enough; empty where no token is needed.
    var scopes: Set<String> {
      Set((value["security"]?.array ?? []).compactMap { $0["token"]?[0]?.string })
    }

    /// Bodies to try, by name.
    var requests: [(name: String, body: JSONValue)] {
      let content = value["requestBody"]?["content"]?["application/json"]
      return (content?["examples"]?.object?.elements ?? []).compactMap { name, example in
        example["value"].map { (name, $0) }
      }
    }

    var needsBody: Bool { value["requestBody"]?["required"]?.bool == true }
  }

  let root: JSONValue

  init(from caller: TestCaller) async throws {
    let answer = try await caller.call("GET", "/openapi.json")
    try #require(answer.status == 200)
    #expect(answer.fields["content-type"] == "application/json")
    root = try JSONValue.parse(
      Array(answer.text.utf8), limits: JSONLimits(maxBytes: 1 << 22, maxDepth: 100))
  }

  var operations: [Operation] {
    (root["paths"]?.object?.elements ?? []).flatMap { path, item in
      (item.object?.elements ?? []).map { method, value in
        Operation(method: method.uppercased(), path: path, value: value)
      }
    }
  }

  /// What a reference stands for.
  func resolved(_ value: JSONValue) -> JSONValue {
    guard let text = value["$ref"]?.string else { return value }
    let target = text.split(separator: "/").dropFirst().reduce(root as JSONValue?) {
      $0?[String($1)]
    }
    return target ?? .null
  }

  /// What an operation says of an answer with this status.
  func answer(_ status: Int, of operation: Operation) -> JSONValue? {
    operation.value["responses"]?["\(status)"].map(resolved)
  }

  /// Members of an answer that its schema does not name, and those that it misses, as pointers.
  ///
  /// Values are checked by clients that know all of JSON Schema; here it is that nothing is sent
  /// that is not described.
  func faults(of value: JSONValue, by schema: JSONValue, at path: String = "") -> [String] {
    let schema = resolved(schema)
    if let choices = (schema["anyOf"] ?? schema["oneOf"])?.array {
      let all = choices.map { faults(of: value, by: $0, at: path) }
      return all.min { $0.count < $1.count } ?? []
    }
    if let object = value.object, let properties = schema["properties"]?.object {
      let missing = (schema["required"]?.array ?? []).compactMap(\.string)
        .filter { object[$0] == nil }
      return missing.map { "\(path)/\($0) is missing" }
        + object.elements.flatMap { key, value -> [String] in
          guard let known = properties[key] else { return ["\(path)/\(key) is not described"] }
          return faults(of: value, by: known, at: "\(path)/\(key)")
        }
    }
    if let elements = value.array {
      guard let items = schema["items"] else { return ["\(path) is an array"] }
      return elements.enumerated().flatMap { faults(of: $1, by: items, at: "\(path)/\($0)") }
    }
    if value.object != nil, schema["type"] != "object", schema["type"]?.array == nil {
      return ["\(path) is an object"]
    }
    return []
  }
}
