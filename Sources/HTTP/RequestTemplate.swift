import CNghttp2

/// The head of many alike requests, made once in memory that does not move.
///
/// A push to a device differs from the last one in its path and its ID; everything else is the
/// same for thousands. So the stable fields are laid out once, where nghttp2 may point at them
/// without copying, and only the volatile values travel with each request. Stable fields enter the
/// connection's HPACK table by themselves; volatile ones are flagged not to, since each would push
/// out one that comes again.
// Unchecked: all memory is written in init and only read afterwards.
package final class RequestTemplate: @unchecked Sendable {
  /// Names of the values that come with each request, in their order; `:path` first if it is one.
  package let volatileNames: [String]
  /// For messages; volatile parts are left out.
  package let summary: String

  let count: Int
  /// Where each volatile value goes in the list of fields.
  let volatileIndices: [Int]
  private let bytes: UnsafeMutablePointer<UInt8>
  private let entries: UnsafeMutablePointer<nghttp2_nv>

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
    for (name, value) in list { try Self.check(name: name, value: value) }

    let size = list.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.utf8.count ?? 0) }
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(size, 1))
    let entries = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: list.count)
    var end = 0
    func keep(_ text: String) -> UnsafeMutablePointer<UInt8> {
      defer { end += text.utf8.count }
      for (offset, byte) in text.utf8.enumerated() { bytes[end + offset] = byte }
      return bytes + end
    }
    for (index, (name, value)) in list.enumerated() {
      let flags =
        value == nil
        ? NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_INDEX.rawValue
        : NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
      (entries + index).initialize(
        to: nghttp2_nv(
          name: keep(name), value: value.map(keep), namelen: name.utf8.count,
          valuelen: value?.utf8.count ?? 0, flags: UInt8(flags)))
    }
    self.bytes = bytes
    self.entries = entries
    count = list.count
    volatileIndices = list.indices.filter { list[$0].value == nil }
    volatileNames = volatileIndices.map { list[$0].name }
    summary = "\(method) \(path ?? "(path)") at \(authority)"
  }

  deinit {
    bytes.deallocate()
    entries.deallocate()
  }

  /// The head of one single request, nothing of it volatile.
  package convenience init(_ request: HTTPRequest) throws(ExchangeFailure) {
    try self.init(
      method: request.method, scheme: request.scheme, authority: request.authority,
      path: request.path, fields: request.fields)
  }

  /// The list of fields for nghttp2, which may point into this template as long as it lives.
  ///
  /// - Parameters:
  ///   - values: one for each of ``volatileNames``, already checked.
  ///   - body: is given the list; its volatile values are gone when `body` returns.
  func withEntries<Result>(
    _ values: FieldValues, _ scratch: HeadScratch, _ body: (UnsafePointer<nghttp2_nv>) -> Result
  ) -> Result {
    if volatileIndices.isEmpty { return body(entries) }
    return scratch.withPatched(
      UnsafeBufferPointer(start: entries, count: count), at: volatileIndices, values: values, body)
  }

  /// Whether each value may travel in its place.
  package func accepts(_ values: FieldValues) -> Bool {
    guard values.count == volatileIndices.count else { return false }
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

/// Reused memory in which a head is put together just before nghttp2 copies it.
final class HeadScratch {
  private var entries: [nghttp2_nv] = []
  private var bytes: [UInt8] = []
  // For one head of a template. They only grow, and nothing else is done while they are written, so
  // the run-time check for overlapping accesses is left out.
  @exclusivity(unchecked) private var text = UnsafeMutableBufferPointer<UInt8>.allocate(
    capacity: 1_024)
  @exclusivity(unchecked) private var list = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(
    capacity: 32)

  deinit {
    text.deallocate()
    list.deallocate()
  }

  /// A copy of a template's list with the volatile values in their places.
  func withPatched<Result>(
    _ stable: UnsafeBufferPointer<nghttp2_nv>, at indices: [Int], values: FieldValues,
    _ body: (UnsafePointer<nghttp2_nv>) -> Result
  ) -> Result {
    if stable.count > list.count { Self.grow(&list, to: stable.count) }
    _ = list.update(fromContentsOf: stable)
    let needed = indices.indices.reduce(0) { $0 + values[$1].utf8.count }
    if needed > text.count { Self.grow(&text, to: needed) }
    var end = 0
    for (position, index) in indices.enumerated() {
      var value = values[position]
      let start = text.baseAddress.unsafelyUnwrapped + end
      let count = value.withUTF8 { bytes in
        if let source = bytes.baseAddress { start.update(from: source, count: bytes.count) }
        return bytes.count
      }
      list[index].value = start
      list[index].valuelen = count
      end += count
    }
    return body(UnsafePointer(list.baseAddress.unsafelyUnwrapped))
  }

  private static func grow<Element>(
    _ buffer: inout UnsafeMutableBufferPointer<Element>, to count: Int
  ) {
    buffer.deallocate()
    buffer = .allocate(capacity: max(count, 2 * buffer.count))
  }

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
