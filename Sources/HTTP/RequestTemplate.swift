import CNghttp2

/// The head of many alike requests, checked once.
///
/// A push to a device differs from the last one in its path and its ID; everything else is the
/// same for thousands. So only the volatile values travel with each request, and a connection's
/// ``HeadEncoder`` compresses the others once.
package final class RequestTemplate: Sendable {
  /// The smallest frame that every peer takes: a head is one frame.
  package static let headLimitBytes = 16_384

  /// Names of the values that come with each request, in their order; `:path` first if it is one.
  package let volatileNames: [String]
  /// For messages; volatile parts are left out.
  package let summary: String

  /// In the order in which they travel; those without a value get one with each request.
  let fields: [(name: [UInt8], value: [UInt8]?)]
  /// What nghttp2 has to know of a request, to read its answer.
  let method: [UInt8]
  /// Bytes that the stable part of a head has at most.
  private let stableBytes: Int
  /// What a field may have beside its name and value: a kind, and two lengths.
  private static let fieldOverheadBytes = 8

  /// - Parameters:
  ///   - path: nil when it comes with each request, as the first volatile value.
  ///   - fields: those that are the same for every request.
  ///   - volatile: names of fields whose values come with each request.
  /// - Throws: ``ExchangeFailure/Kind/malformedRequest`` for a name or value that may not travel.
  package init(
    method: String, scheme: String = "https", authority: String, path: String?,
    fields: HTTPFields, volatile: [String] = []
  ) throws(ExchangeFailure) {
    var list: [(name: String, value: String?)] = [
      (":method", method), (":scheme", scheme), (":authority", authority), (":path", path),
    ]
    if authority.isEmpty { list.remove(at: 2) }
    list += fields.map { ($0.name, $0.value) }
    list += volatile.map { ($0, nil) }
    var bytes = 0
    for (name, value) in list {
      try Self.check(name: name, value: value)
      bytes += name.utf8.count + (value?.utf8.count ?? 0) + Self.fieldOverheadBytes
    }
    guard bytes <= Self.headLimitBytes else {
      throw ExchangeFailure(
        .malformedRequest,
        "The head of \(method) \(path ?? "") has up to \(bytes) bytes, more than the "
          + "\(Self.headLimitBytes) of a frame.")
    }
    stableBytes = bytes
    self.method = Array(method.utf8)
    self.fields = list.map { (Array($0.name.utf8), $0.value.map { Array($0.utf8) }) }
    volatileNames = list.filter { $0.value == nil }.map(\.name)
    summary = "\(method) \(path ?? "(path)") at \(authority)"
  }

  /// The head of one single request, nothing of it volatile.
  package convenience init(_ request: HTTPRequest) throws(ExchangeFailure) {
    try self.init(
      method: request.method, scheme: request.scheme, authority: request.authority,
      path: request.path, fields: request.fields)
  }

  /// Whether each value may travel in its place, and all together in a frame.
  package func accepts(_ values: FieldValues) -> Bool {
    guard values.count == volatileNames.count else { return false }
    var bytes = stableBytes
    for index in 0..<values.count { bytes += values[index].utf8.count }
    guard bytes <= Self.headLimitBytes else { return false }
    if values.areChecked { return true }
    for (index, name) in volatileNames.enumerated() {
      var value = values[index]
      guard Self.isValid(&value, for: name) else { return false }
    }
    return true
  }

  private static func check(name: String, value: String?) throws(ExchangeFailure) {
    let bare = name.utf8.first == UInt8(ascii: ":") ? String(name.dropFirst()) : name
    guard nghttp2_check_header_name(Array(bare.utf8), bare.utf8.count) != 0 else {
      throw ExchangeFailure(
        .malformedRequest, "The field name \"\(name)\" may not travel: names are lower-case tokens."
      )
    }
    guard var value else { return }
    guard isValid(&value, for: name) else {
      throw ExchangeFailure(
        .malformedRequest,
        "The value of \"\(name)\" may not travel: it has a control character, or blanks at an end.")
    }
  }

  private static func isValid(_ value: inout String, for name: String) -> Bool {
    let isPath = name == ":path"
    return value.withUTF8 { text in
      isPath
        ? text.count > 0 && nghttp2_check_path(text.baseAddress, text.count) != 0
        : nghttp2_check_header_value_rfc9113(text.baseAddress, text.count) != 0
    }
  }
}

/// Reused memory in which an answer's head is put together just before nghttp2 copies it.
final class HeadScratch {
  private var entries: [nghttp2_nv] = []
  private var bytes: [UInt8] = []

  /// A list of names and values that nghttp2 copies.
  func withList<Result>(
    status: Int, _ fields: HTTPFields, _ body: (UnsafePointer<nghttp2_nv>, Int) -> Result
  ) -> Result {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(contentsOf: ":status".utf8)
    bytes.append(contentsOf: String(status).utf8)
    let statusDigits = bytes.count - 7
    for field in fields.list {
      bytes.append(contentsOf: field.name.utf8)
      bytes.append(contentsOf: field.value.utf8)
    }
    entries.removeAll(keepingCapacity: true)
    return bytes.withUnsafeMutableBufferPointer { text in
      var end = 0
      func take(_ count: Int) -> UnsafeMutablePointer<UInt8>? {
        defer { end += count }
        return text.baseAddress.map { $0 + end }
      }
      func add(_ nameLength: Int, _ valueLength: Int) {
        let name = take(nameLength)
        entries.append(
          nghttp2_nv(
            name: name, value: take(valueLength), namelen: nameLength, valuelen: valueLength,
            flags: 0))
      }
      add(7, statusDigits)
      for field in fields.list { add(field.name.utf8.count, field.value.utf8.count) }
      return entries.withUnsafeBufferPointer { list in body(list.baseAddress!, list.count) }
    }
  }
}
