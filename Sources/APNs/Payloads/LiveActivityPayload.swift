public import Clocks
public import JSON

/// The body of a push to one Live Activity: its start, an update, or its end.
///
/// Start goes to a push-to-start token, update and end to the activity's own update token.
public struct LiveActivityPayload: PushPayload {
  /// How a started activity learns of later states. It has one way only.
  public enum Input: Sendable, Hashable {
    /// By an update token that the app reports (iOS 18 and later say so; before that it is the
    /// only way).
    case token
    /// By a broadcast channel, which must exist. iOS 18 and later: an older device does not start
    /// the activity at all.
    case channel(ChannelID)
  }

  /// What a phone must know to put a card up.
  public struct Start: Sendable {
    /// Name of the `ActivityAttributes` struct, exactly as in the app.
    public var attributesType: String
    /// Must decode into that struct; an object.
    public var attributes: JSONText
    /// Without it the phone drops the start.
    public var alert: LiveActivityAlert
    /// Nil sends neither key, for devices below iOS 18.
    public var input: Input?
    /// When the card shall call itself outdated.
    public var staleDate: UnixTime?
    /// Any finite number; the highest of an app's cards is shown in the Island.
    public var relevance: Double?

    /// Nothing is checked before ``encoded()``.
    public init(
      attributesType: String, attributes: JSONText, alert: LiveActivityAlert, input: Input?,
      staleDate: UnixTime? = nil, relevance: Double? = nil
    ) {
      self.attributesType = attributesType
      self.attributes = attributes
      self.alert = alert
      self.input = input
      self.staleDate = staleDate
      self.relevance = relevance
    }
  }

  /// What happens to the card.
  public enum Event: Sendable {
    case start(Start)
    case update(staleDate: UnixTime? = nil, relevance: Double? = nil)
    case end(dismissalDate: UnixTime? = nil)
  }

  public let type = PushType.liveActivity
  /// What happens to the card.
  public var event: Event
  /// Whole seconds since 1970; the phone keeps the state with the greatest one.
  public var timestampSeconds: Int64
  /// Only an end may be without one; the card then keeps what it shows.
  public var contentState: JSONText?
  /// For updates and ends; a start has its own.
  public var alert: LiveActivityAlert?

  /// Nothing is checked before ``encoded()``.
  public init(
    _ event: Event, timestampSeconds: Int64, contentState: JSONText?,
    alert: LiveActivityAlert? = nil
  ) {
    self.event = event
    self.timestampSeconds = timestampSeconds
    self.contentState = contentState
    self.alert = alert
  }

  /// The bytes to send: at most 4,096.
  public func encoded() throws(PayloadError) -> [UInt8] { try encoded(attributesBytes: 0) }

  /// The bytes to send: at most 4,096.
  ///
  /// - Parameter attributesBytes: of an update or end, the size of the running activity's
  ///   attributes, which share the phone's 4 KB with the content-state.
  public func encoded(attributesBytes: Int) throws(PayloadError) -> [UInt8] {
    let bytes: [UInt8]
    switch event {
    case .start(let start): bytes = try encoded(start)
    case .update(let staleDate, let relevance):
      bytes = try broadcastPayload(.update(staleDate: staleDate, relevance: relevance))
        .encoded(attributesBytes: attributesBytes)
    case .end(let dismissalDate):
      bytes = try broadcastPayload(.end(dismissalDate: dismissalDate))
        .encoded(attributesBytes: attributesBytes)
    }
    let limit = PushType.liveActivity.payloadLimitBytes
    guard bytes.count <= limit else { throw .tooLarge(bytes: bytes.count, limit: limit) }
    return bytes
  }

  /// Updates and ends have the same body by token and by channel; only the limit differs.
  private func broadcastPayload(_ event: BroadcastPayload.Event) -> BroadcastPayload {
    BroadcastPayload(
      event, timestampSeconds: timestampSeconds, contentState: contentState, alert: alert)
  }

  private func encoded(_ start: Start) throws(PayloadError) -> [UInt8] {
    guard alert == nil else {
      throw .conflict("A start has its alert in Start.alert; it was given a second one.")
    }
    try BroadcastPayload.check(timestampSeconds: timestampSeconds)
    guard let contentState, contentState.root.kind == .object else {
      throw .notAnObject(name: "content-state")
    }
    guard start.attributes.root.kind == .object else { throw .notAnObject(name: "attributes") }
    guard !start.attributesType.isEmpty else {
      throw .conflict("attributes-type is empty; it names the app's ActivityAttributes struct.")
    }
    if let relevance = start.relevance, !relevance.isFinite {
      throw .outOfRange(name: "relevance-score", allowed: "a finite number")
    }
    try start.alert.validate()
    let contentBytes = contentState.bytes.count + start.attributes.bytes.count
    guard contentBytes <= BroadcastPayload.contentLimitBytes else {
      throw .contentTooLarge(bytes: contentBytes, limit: BroadcastPayload.contentLimitBytes)
    }
    var writer = JSONWriter(reservingCapacity: contentBytes + 512)
    writer.object {
      $0.key("aps")
      $0.object { write(start, contentState, to: &$0) }
    }
    return writer.finish()
  }

  private func write(_ start: Start, _ contentState: JSONText, to writer: inout JSONWriter) {
    writer.member("timestamp", timestampSeconds)
    writer.member("event", "start")
    writer.member("content-state", contentState)
    writer.member("attributes-type", start.attributesType)
    writer.member("attributes", start.attributes)
    switch start.input {
    case nil: break
    case .token: writer.member("input-push-token", 1)
    case .channel(let channelID): writer.member("input-push-channel", channelID.text)
    }
    if let staleDate = start.staleDate { writer.member("stale-date", staleDate.wholeSeconds) }
    if let relevance = start.relevance {
      writer.key("relevance-score")
      writer.double(relevance)
    }
    start.alert.write(to: &writer)
  }
}
