public import JSON

/// The body of a push that makes the app's widgets reload.
///
/// - SeeAlso: Apple, "Updating widgets with WidgetKit push notifications".
public struct WidgetPayload: PushPayload {
  public let type = PushType.widgets

  public init() {}

  public func encoded() throws(PayloadError) -> [UInt8] {
    Array(#"{"aps":{"content-changed":true}}"#.utf8)
  }
}

/// The body of a push that tells a file provider extension of changes.
///
/// - SeeAlso: Apple, "Using push notifications to signal changes".
public struct FileProviderPayload: PushPayload {
  public let type = PushType.fileProvider
  /// The container that changed, such as `NSFileProviderWorkingSetContainerItemIdentifier`.
  public var containerIdentifier: String
  /// The domain that it belongs to; nil for the default one.
  public var domain: String?

  /// A change in one container.
  public init(containerIdentifier: String, domain: String? = nil) {
    self.containerIdentifier = containerIdentifier
    self.domain = domain
  }

  public func encoded() throws(PayloadError) -> [UInt8] {
    guard !containerIdentifier.isEmpty else {
      throw .conflict("A push of type fileprovider names the container that changed.")
    }
    return try encodedObject(for: type) {
      $0.member("container-identifier", containerIdentifier)
      if let domain { $0.member("domain", domain) }
    }
  }
}

/// The body of a push that tells a managed device to ask its server for commands.
///
/// Its topic is the UID in the MDM push certificate, to be given to ``Push``.
public struct ManagementPayload: PushPayload {
  public let type = PushType.mdm
  /// The word that the device gave when it enrolled (`PushMagic`).
  public var pushMagic: String

  /// A call to one device.
  public init(pushMagic: String) { self.pushMagic = pushMagic }

  public func encoded() throws(PayloadError) -> [UInt8] {
    guard !pushMagic.isEmpty else {
      throw .conflict("A push of type mdm carries the device's PushMagic.")
    }
    return try encodedObject(for: type) { $0.member("mdm", pushMagic) }
  }
}

/// The body of a push whose content is the app's own affair: a call, a talk, a complication, a
/// question for the location.
public struct CustomPayload: PushPayload {
  /// The kinds of push that say nothing of their own.
  public enum Kind: Sendable, Hashable, CaseIterable {
    case voip, pushToTalk, complication, location, controls, accessory
  }

  public let type: PushType
  /// The members of the body, in this order; each key once. `aps` may be among them.
  public var members: [(key: String, value: JSONText)]

  /// A body of the given members; an empty `aps` is added where there is none.
  public init(_ kind: Kind, members: [(key: String, value: JSONText)] = []) {
    switch kind {
    case .voip: type = .voip
    case .pushToTalk: type = .pushToTalk
    case .complication: type = .complication
    case .location: type = .location
    case .controls: type = .controls
    case .accessory: type = .accessory
    }
    self.members = members
  }

  public func encoded() throws(PayloadError) -> [UInt8] {
    var keys: Set<String> = []
    for member in members where !keys.insert(member.key).inserted {
      throw .conflict("The member \"\(member.key)\" stands twice.")
    }
    return try encodedObject(for: type) {
      if !keys.contains("aps") {
        $0.key("aps")
        $0.object { _ in }
      }
      for member in members { $0.member(member.key, member.value) }
    }
  }
}

/// Writes one JSON object and holds it to its push type's limit.
func encodedObject(
  for type: PushType, reservingCapacity capacity: Int = 256,
  _ body: (inout JSONWriter) -> Void
) throws(PayloadError) -> [UInt8] {
  var writer = JSONWriter(reservingCapacity: capacity)
  writer.object { body(&$0) }
  let bytes = writer.finish()
  let limit = type.payloadLimitBytes
  guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit) }
  return bytes
}
