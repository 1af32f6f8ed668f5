package import Clocks

/// A content-state as it travelled: the exact JSON text. Shared by all phones that show it.
package final class ContentState: Sendable, Equatable {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package static func == (left: ContentState, right: ContentState) -> Bool {
    left === right || left.bytes == right.bytes
  }
}

/// A Live Activity push that APNs accepted, as phones will find it. One object for all of them.
package final class ActivityPush: Sendable {
  package enum Event: String, Sendable {
    case start, update, end
  }

  package enum AlertKind: Sendable, Equatable {
    case none
    /// No title: iOS does not treat it as an alert.
    case incomplete
    case complete
  }

  /// How long APNs keeps it for a phone that is offline.
  package enum Storage: Sendable, Equatable {
    /// One attempt.
    case none
    case until(UnixTime)
  }

  /// Numbers of one simulator rise in the order of acceptance.
  package let number: UInt64
  package let acceptedAt: UnixTime
  /// 10, 5 or 1.
  package let priority: Int
  package let storage: Storage
  package let payload: ActivityPayload

  init(
    number: UInt64, acceptedAt: UnixTime, priority: Int, storage: Storage, payload: ActivityPayload
  ) {
    self.number = number
    self.acceptedAt = acceptedAt
    self.priority = priority
    self.storage = storage
    self.payload = payload
  }
}

/// What a payload's `aps` says, in the types of a phone.
package struct ActivityPayload: Sendable, Equatable {
  package var event: ActivityPush.Event?
  /// Whole seconds since 1970.
  package var timestampSeconds: Int64?
  package var contentState: ContentState?
  package var staleDateSeconds: Int64?
  package var dismissalDateSeconds: Int64?
  package var alert = ActivityPush.AlertKind.none
  package var attributesType: String?
  /// JSON text of `attributes`.
  package var attributes: [UInt8]?
  package var wantsUpdateToken = false
  package var inputChannelID: String?
  /// Why a phone with this attributes type cannot decode the content-state.
  package var undecodable: [String: String] = [:]
  /// Why no phone can use the push at all.
  package var defect: String?
  /// What Apple's pages do not allow or do not mention: APNs says 200 all the same.
  package var complaints: [String] = []
}
