/// What APNs keeps of a channel's messages; fixed for the life of a channel.
package enum StoragePolicy: Int, Hashable, Sendable, CaseIterable {
  /// Nothing: devices that are offline miss a message. Apple gives such channels a higher
  /// publishing budget. `apns-expiration` must be 0.
  case noStorage = 0
  /// The most recent message, for up to eight hours: late devices catch up by themselves.
  case mostRecent = 1

  /// As configuration and replies call it.
  package var name: String {
    switch self {
    case .noStorage: "none"
    case .mostRecent: "mostRecent"
    }
  }
}
