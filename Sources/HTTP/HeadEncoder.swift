import CNghttp2

/// Writes the heads of one connection's requests, in HPACK (RFC 7541).
///
/// nghttp2 would write them as well, and compress each anew: the 200 bytes of a provider token
/// alone were a quarter of a push's instructions. Here what the requests of a template have in
/// common is compressed once for a connection and copied from then on; what comes with each request
/// is written as it is, since a table look-up for each of its bytes would save a fifth of them.
///
/// As Apple asks, paths, tokens and IDs do not enter the table, and everything else does.
struct HeadEncoder {
  /// What all heads of a template share, in the parts that stand before, between and behind the
  /// values. Good for as long as nothing enters the table.
  private final class Plan {
    let template: RequestTemplate
    let parts: [[UInt8]]

    init(_ template: RequestTemplate, _ parts: [[UInt8]]) {
      self.template = template
      self.parts = parts
    }
  }

  /// More templates than a connection has use for at a time.
  private static let mostPlans = 8
  /// Fields whose values are different each time, or for nobody's memory.
  private static let unindexed: Set<[UInt8]> = Set(
    [":path", "authorization", "content-length", "apns-id", "apns-request-id"].map {
      Array($0.utf8)
    })
  private static let authorization = Array("authorization".utf8)

  private var table = FieldTable()
  private var plans: [Plan] = []
  private var oldestPlan = 0
  private var latest: Plan?

  /// The peer's `SETTINGS_HEADER_TABLE_SIZE`, in the order in which it said them.
  mutating func setPeersTableSize(_ size: UInt32) {
    table.setPeersLimit(Int(size))
    forgetPlans()
  }

  /// Writes the head of a template's request.
  ///
  /// - Parameters:
  ///   - values: fit for the template.
  ///   - room: of ``RequestTemplate/headLimitBytes`` or more.
  /// - Returns: how many bytes it has.
  mutating func encode(
    _ template: RequestTemplate, _ values: FieldValues, into room: UnsafeMutableRawBufferPointer
  ) -> Int {
    if let latest, latest.template === template { return Self.write(latest, values, room) }
    if let known = plans.first(where: { $0.template === template }) {
      latest = known
      return Self.write(known, values, room)
    }
    let (plan, isLasting) = plan(template, values)
    if isLasting { keep(plan) } else { forgetPlans() }
    return Self.write(plan, values, room)
  }

  private mutating func keep(_ plan: Plan) {
    if plans.count < Self.mostPlans {
      plans.append(plan)
    } else {
      plans[oldestPlan] = plan
      oldestPlan = (oldestPlan + 1) % Self.mostPlans
    }
    latest = plan
  }

  /// Places in the table have moved, so what refers to them is no longer right.
  private mutating func forgetPlans() {
    plans.removeAll(keepingCapacity: true)
    oldestPlan = 0
    latest = nil
  }

  // MARK: What is shared

  /// - Returns: also whether the same parts will do for the next request.
  private mutating func plan(
    _ template: RequestTemplate, _ values: FieldValues
  ) -> (Plan, isLasting: Bool) {
    var parts: [[UInt8]] = [[]]
    var isLasting = true
    for size in table.takeChanges() {
      Self.put(size, 0x20, bits: 5, &parts[0])
      isLasting = false
    }
    var given = 0
    for (name, value) in template.fields {
      if let value {
        if !put(name, value, &parts[parts.count - 1]) { isLasting = false }
      } else {
        let value = Array(values[given].utf8)
        if !putName(name, before: value, &parts[parts.count - 1]) { isLasting = false }
        parts.append([])
        given += 1
      }
    }
    return (Plan(template, parts), isLasting)
  }

  /// - Returns: false when the field entered the table.
  private mutating func put(_ name: [UInt8], _ value: [UInt8], _ bytes: inout [UInt8]) -> Bool {
    if name == Self.authorization {
      bytes += Self.neverIndexed(name, value)
      return true
    }
    if Self.unindexed.contains(name) || !table.hasRoom(forName: name, value: value) {
      putLiteral(name, 0x00, bits: 4, &bytes)
      Self.put(value, &bytes)
      return true
    }
    if let index = table.index(ofName: name, value: value) {
      Self.put(index, 0x80, bits: 7, &bytes)
      return true
    }
    putLiteral(name, 0x40, bits: 6, &bytes)
    Self.put(value, &bytes)
    table.insert(name, value)
    return false
  }

  /// Everything of a field but its value, which is not to enter the table; except that a name the
  /// table does not have enters it, with this value.
  private mutating func putName(
    _ name: [UInt8], before value: [UInt8], _ bytes: inout [UInt8]
  ) -> Bool {
    if table.index(ofName: name) != nil || !table.hasRoom(forName: name, value: value) {
      putLiteral(name, 0x00, bits: 4, &bytes)
      return true
    }
    putLiteral(name, 0x40, bits: 6, &bytes)
    table.insert(name, value)
    return false
  }

  private func putLiteral(
    _ name: [UInt8], _ kind: UInt8, bits: Int, _ bytes: inout [UInt8]
  ) {
    let index = table.index(ofName: name) ?? 0
    Self.put(index, kind, bits: bits, &bytes)
    if index == 0 { Self.put(name, &bytes) }
  }

  // MARK: Bytes

  private static func put(_ text: [UInt8], _ bytes: inout [UInt8]) {
    put(text.count, 0x00, bits: 7, &bytes)
    bytes += text
  }

  /// An integer in the rest of a byte and as many more as it takes (RFC 7541, section 5.1).
  private static func put(_ number: Int, _ kind: UInt8, bits: Int, _ bytes: inout [UInt8]) {
    withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { room in
      let count = write(number, kind, bits: bits, room, at: 0)
      bytes += room[..<count]
    }
  }

  /// The literal that no intermediary may enter into a table either, in Huffman's code.
  private static func neverIndexed(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
    var name = name
    var value = value
    var deflater: OpaquePointer?
    guard nghttp2_hd_deflate_new(&deflater, FieldTable.usualLimit) == 0, let deflater else {
      fatalError("nghttp2 has no memory for a header table")
    }
    defer { nghttp2_hd_deflate_del(deflater) }
    let count = name.count
    return name.withUnsafeMutableBufferPointer { name in
      value.withUnsafeMutableBufferPointer { value in
        var field = nghttp2_nv(
          name: name.baseAddress, value: value.baseAddress, namelen: count, valuelen: value.count,
          flags: UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue))
        let most = nghttp2_hd_deflate_bound(deflater, &field, 1)
        return [UInt8](unsafeUninitializedCapacity: most) { room, filled in
          filled = max(0, nghttp2_hd_deflate_hd(deflater, room.baseAddress, most, &field, 1))
        }
      }
    }
  }

  private static func write(
    _ plan: Plan, _ values: FieldValues, _ room: UnsafeMutableRawBufferPointer
  ) -> Int {
    var end = 0
    for index in plan.parts.indices {
      plan.parts[index].withUnsafeBytes { end = copy($0, to: room, at: end) }
      guard index < values.count else { continue }
      var value = values[index]
      value.withUTF8 { text in
        end = write(text.count, 0x00, bits: 7, room, at: end)
        end = copy(UnsafeRawBufferPointer(text), to: room, at: end)
      }
    }
    return end
  }

  /// - Returns: where the next byte goes.
  private static func write(
    _ number: Int, _ kind: UInt8, bits: Int, _ room: UnsafeMutableRawBufferPointer, at start: Int
  ) -> Int {
    let most = 1 << bits - 1
    guard number >= most else {
      room[start] = kind | UInt8(number)
      return start + 1
    }
    room[start] = kind | UInt8(most)
    var (rest, end) = (number - most, start + 1)
    while rest >= 128 {
      room[end] = UInt8(rest & 127) | 128
      rest >>= 7
      end += 1
    }
    room[end] = UInt8(rest)
    return end + 1
  }

  private static func copy(
    _ bytes: UnsafeRawBufferPointer, to room: UnsafeMutableRawBufferPointer, at start: Int
  ) -> Int {
    precondition(start + bytes.count <= room.count, "a head is longer than its template allows")
    if let source = bytes.baseAddress {
      (room.baseAddress.unsafelyUnwrapped + start).copyMemory(from: source, byteCount: bytes.count)
    }
    return start + bytes.count
  }
}
