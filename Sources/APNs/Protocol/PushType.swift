/// What kind of push a request is: the `apns-push-type` field.
///
/// It fixes the topic's suffix, the priorities that are allowed and the size of the payload.
public enum PushType: String, Sendable, CaseIterable {
  case alert
  case background
  case liveActivity = "liveactivity"
  case widgets
  case controls
  case location
  case voip
  case pushToTalk = "pushtotalk"
  case complication
  case fileProvider = "fileprovider"
  case mdm
  /// Not on Apple's list; other clients send it for accessory notification forwarding.
  case accessory

  /// What stands behind the bundle ID in `apns-topic`. Empty for alerts and background pushes, and
  /// for device management, whose topic is no bundle ID at all.
  public var topicSuffix: String {
    switch self {
    case .alert, .background, .mdm: ""
    case .liveActivity: ".push-type.liveactivity"
    case .widgets: ".push-type.widgets"
    case .controls: ".push-type.controls"
    case .location: ".location-query"
    case .voip: ".voip"
    case .pushToTalk: ".voip-ptt"
    case .complication: ".complication"
    case .fileProvider: ".pushkit.fileprovider"
    case .accessory: ".push-type.accessory"
    }
  }

  /// The priorities that APNs takes for this type, the usual one first.
  public var priorities: [PushPriority] {
    switch self {
    case .background: [.considerate]
    case .liveActivity: [.immediate, .considerate]
    default: [.immediate, .considerate, .idle]
    }
  }

  /// Whether connections with a certificate cannot carry it.
  public var needsToken: Bool { self == .location }

  /// Whether it announces something that is over within seconds.
  var isCall: Bool { self == .voip || self == .pushToTalk }

  /// Most bytes of a payload, as Apple sets it; over it APNs answers 413.
  public var payloadLimitBytes: Int { self == .voip ? 5_120 : 4_096 }
}

/// How much a push may cost the device: the `apns-priority` field.
public enum PushPriority: UInt8, Sendable, CaseIterable {
  /// At once; counts against the device's budget for Live Activities.
  case immediate = 10
  /// When it suits the device's power; may be grouped, delayed or dropped.
  case considerate = 5
  /// Power before all; never wakes the device.
  case idle = 1

  var text: String {
    switch self {
    case .immediate: "10"
    case .considerate: "5"
    case .idle: "1"
    }
  }
}
