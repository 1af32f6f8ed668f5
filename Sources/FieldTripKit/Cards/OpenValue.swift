/// A value out of a list that may grow: one that this build does not know is kept, not refused.
///
/// A content-state that does not decode leaves the old card on the screen and tells nobody.
public protocol OpenValue: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible
where RawValue == String {
  init(rawValue: String)
}

extension OpenValue {
  public var description: String { rawValue }
}
