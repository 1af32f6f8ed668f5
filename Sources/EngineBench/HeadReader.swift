import CNghttp2

/// Decodes the heads of one connection's requests, to see which token each is for.
final class HeadReader {
  private let inflater: OpaquePointer

  init() {
    var inflater: OpaquePointer?
    guard nghttp2_hd_inflate_new(&inflater) == 0, let inflater else {
      fatalError("nghttp2 has no memory for a header table")
    }
    self.inflater = inflater
  }

  deinit { nghttp2_hd_inflate_del(inflater) }

  /// - Parameter block: a whole header block; blocks must come in the order of their frames.
  /// - Returns: why the token in its path is refused; nil for a good one.
  func refusal(in block: UnsafeRawBufferPointer) -> BenchTokens.Refusal? {
    var refusal: BenchTokens.Refusal?
    let bytes = block.bindMemory(to: UInt8.self)
    var done = 0
    while true {
      var field = nghttp2_nv()
      var flags: Int32 = 0
      let used = nghttp2_hd_inflate_hd2(
        inflater, &field, &flags, bytes.baseAddress.map { $0 + done }, bytes.count - done, 1)
      guard used >= 0 else { return nil }
      done += used
      if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0, let path = Self.path(field) {
        refusal = BenchTokens.refusal(ofPathEndingIn: path)
      }
      if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
        nghttp2_hd_inflate_end_headers(inflater)
        return refusal
      }
    }
  }

  /// The last byte of the path, if this field is it.
  private static func path(_ field: nghttp2_nv) -> UInt8? {
    guard field.namelen == 5, field.name[1] == UInt8(ascii: "p"), field.valuelen > 0 else {
      return nil
    }
    return field.value[field.valuelen - 1]
  }
}
