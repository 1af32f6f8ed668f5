/// The push types of device pushes, and the topic that belongs to each.
struct PushTopic: Sendable, Equatable {
  var pushType: String
  /// What is appended to the bundle ID.
  var suffix: String
  /// Largest body in bytes.
  var limitBytes = 4096

  static let liveActivitySuffix = ".push-type.liveactivity"

  static let all = [
    PushTopic(pushType: "alert", suffix: ""),
    PushTopic(pushType: "background", suffix: ""),
    PushTopic(pushType: "liveactivity", suffix: liveActivitySuffix),
    PushTopic(pushType: "widgets", suffix: ".push-type.widgets"),
    PushTopic(pushType: "controls", suffix: ".push-type.controls"),
    PushTopic(pushType: "location", suffix: ".location-query"),
    PushTopic(pushType: "voip", suffix: ".voip", limitBytes: 5120),
    PushTopic(pushType: "pushtotalk", suffix: ".voip-ptt"),
    PushTopic(pushType: "complication", suffix: ".complication"),
    PushTopic(pushType: "fileprovider", suffix: ".pushkit.fileprovider"),
    PushTopic(pushType: "accessory", suffix: ".push-type.accessory"),
    // Its topic is a management certificate's UID, which is no bundle ID.
    PushTopic(pushType: "mdm", suffix: ""),
  ]

  static func named(_ pushType: String) -> PushTopic? { all.first { $0.pushType == pushType } }

  /// Whether a text that should be a bundle ID ends like the topic of a push type.
  static func hasSuffix(_ bundleID: String) -> Bool {
    all.contains { !$0.suffix.isEmpty && bundleID.hasSuffix($0.suffix) }
  }

  /// The bundle ID and push type that a topic stands for: the longest suffix wins.
  static func split(_ topic: String) -> (bundleID: String, suffix: String) {
    let suffix =
      all.map(\.suffix).filter { topic.hasSuffix($0) }.max { $0.utf8.count < $1.utf8.count } ?? ""
    return (String(topic.dropLast(suffix.count)), suffix)
  }
}
