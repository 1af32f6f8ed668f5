// Stand-in for what Foundation has on Apple's systems alone. The other stand-ins hand it on.

@available(iOS 16.0, *)
public struct LocalizedStringResource: Equatable, Sendable, Codable,
  ExpressibleByStringInterpolation
{
  public let key: String

  public init(stringLiteral value: String) { key = value }
}
