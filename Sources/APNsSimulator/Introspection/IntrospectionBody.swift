internal import HTTP
internal import JSON

/// Reads the body of an introspection request strictly: an unknown or ill-typed key is the
/// caller's mistake, and they are told which.
struct IntrospectionBody {
  struct Problem: Error {
    var text: String
  }

  private var object: JSONObject
  private var used: Set<String> = []

  init(_ request: HTTPRequest) throws(Problem) {
    if request.body.isEmpty {
      object = JSONObject()
      return
    }
    do {
      guard let object = try JSONValue.parse(request.body).object else {
        throw Problem(text: "The body is not a JSON object.")
      }
      self.object = object
    } catch let problem as Problem {
      throw problem
    } catch {
      throw Problem(text: "The body is not JSON: \(error)")
    }
  }

  mutating func integer(_ key: String) throws(Problem) -> Int? {
    try read(key, "a whole number") { $0.int64.map(Int.init) }
  }

  mutating func number(_ key: String) throws(Problem) -> Double? {
    try read(key, "a number") { $0.double }
  }

  mutating func text(_ key: String) throws(Problem) -> String? {
    try read(key, "a string") { $0.string }
  }

  mutating func texts(_ key: String) throws(Problem) -> [String]? {
    try read(key, "a list of strings") { value in
      guard let elements = value.array else { return nil }
      let texts = elements.compactMap(\.string)
      return texts.count == elements.count ? texts : nil
    }
  }

  mutating func flag(_ key: String) throws(Problem) -> Bool? {
    try read(key, "true or false") { $0.bool }
  }

  mutating func json(_ key: String) throws(Problem) -> [UInt8]? {
    try read(key, "an object") { $0.object == nil ? nil : $0.serialized() }
  }

  /// A span given in seconds.
  mutating func seconds(_ key: String) throws(Problem) -> Duration? {
    try number(key).map { .nanoseconds(Int64(max(-1e9, min(1e9, $0)) * 1e9)) }
  }

  /// - Throws: a problem that names the keys that nobody asked for.
  func finish() throws(Problem) {
    let unknown = object.keys.filter { !used.contains($0) }
    guard unknown.isEmpty else {
      throw Problem(text: "Unknown: \(unknown.joined(separator: ", ")).")
    }
  }

  private mutating func read<Value>(
    _ key: String, _ kind: String, _ body: (JSONValue) -> Value?
  ) throws(Problem) -> Value? {
    used.insert(key)
    guard let value = object[key], !value.isNull else { return nil }
    guard let read = body(value) else { throw Problem(text: "\(key) is not \(kind).") }
    return read
  }
}
