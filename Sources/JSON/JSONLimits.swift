/// What a JSON text may cost its reader.
package struct JSONLimits: Sendable, Equatable {
  /// Bytes of the whole text, white space included.
  package var maxBytes: Int
  /// Levels of arrays and objects around a value. The scanner recurses, so this bounds its stack.
  package var maxDepth: Int
  /// Members of one object. Looking for duplicate keys compares each key with those before it;
  /// this keeps a hostile text of 64 KiB to a few milliseconds.
  package var maxMembers: Int

  /// - Parameters:
  ///   - maxBytes: 0...1 GiB.
  ///   - maxDepth: 0...512; 0 allows scalars only.
  ///   - maxMembers: 0 or more.
  package init(maxBytes: Int = 65_536, maxDepth: Int = 64, maxMembers: Int = 1_024) {
    precondition((0...1 << 30).contains(maxBytes), "maxBytes must be 0...1 GiB: \(maxBytes)")
    precondition((0...512).contains(maxDepth), "maxDepth must be 0...512: \(maxDepth)")
    precondition(maxMembers >= 0, "maxMembers must not be negative: \(maxMembers)")
    self.maxBytes = maxBytes
    self.maxDepth = maxDepth
    self.maxMembers = maxMembers
  }

  package static let standard = JSONLimits()
}
