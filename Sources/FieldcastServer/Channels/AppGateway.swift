internal import APNs
internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

/// A broadcast to be sent, in the service's words.
struct BroadcastOrder: Sendable {
  let channel: FieldTrips.ChannelID
  let storage: StoragePolicy
  let type: ActivityType
  let isEnd: Bool
  let priority: Int
  let timestampSeconds: Int64
  let contentState: JSONText
  let times: TripTimes
  let alert: AlertText?
  let sentAt: UnixTime
}

/// What became of a broadcast, for the publisher and for people.
struct BroadcastAnswer: Sendable {
  let outcome: BroadcastOutcome
  /// What APNs said, or why there is no answer: `429 TooManyRequests`.
  let text: String
}

enum ChannelCreated: Sendable {
  case created(FieldTrips.ChannelID)
  /// APNs said no, so there is no channel. Final: asking again does not help.
  case refused(reason: String, isFinal: Bool)
  case notSent(reason: String)
  /// There may be a channel now.
  case unknown(reason: String)
}

enum ChannelDeleted: Sendable {
  /// It is gone, now or since before.
  case deleted
  case failed(reason: String)
}

/// One app's way to APNs: translates between the service's words and the client's.
struct AppGateway: Sendable {
  let client: any PushService
  let log: ServiceLog

  /// Deadlines of calls, in real time.
  private static let management = Duration.seconds(15)
  private static let listing = Duration.seconds(30)
  static let pushes = Duration.seconds(30)

  // MARK: Channels

  func createChannel(_ storage: StoragePolicy, request: String) async -> ChannelCreated {
    switch await client.createChannel(
      storage: storage.atAPNs, requestID: request, deadline: Self.management)
    {
    case .done(let channel):
      guard let known = try? FieldTrips.ChannelID(channel.text) else {
        return .unknown(reason: "APNs gave a channel ID in a form that is not understood.")
      }
      return .created(known)
    case .refused(let refusal): return Self.judged(refusal)
    case .malformed(let reply): return .unknown(reason: "\(reply)")
    case .notSent(let failure): return .notSent(reason: "\(failure)")
    case .unknown(let failure): return .unknown(reason: "\(failure)")
    }
  }

  private static func judged(_ refusal: APNsRefusal) -> ChannelCreated {
    switch refusal.disposition {
    case .enableBroadcasts:
      return .refused(
        reason: "The app's broadcast capability is off: switch it on under Certificates, "
          + "Identifiers & Profiles, Push Notifications, Broadcast Capability.", isFinal: true)
    case .channelQuotaReached:
      return .refused(reason: "APNs has no channel left for this app.", isFinal: true)
    case .retryLater where refusal.status == 500: return .unknown(reason: "\(refusal)")
    case .retryLater, .throttled, .reconnect, .newProviderToken, .keepProviderToken,
      .fixCredentials:
      return .refused(reason: "\(refusal)", isFinal: false)
    case .fixRequest, .dropToken, .channelGone:
      return .refused(reason: "\(refusal)", isFinal: true)
    }
  }

  func deleteChannel(_ channel: FieldTrips.ChannelID) async -> ChannelDeleted {
    guard let id = APNs.ChannelID(channel.text) else { return .deleted }
    switch await client.deleteChannel(id, deadline: Self.management) {
    case .done: return .deleted
    case .refused(let refusal) where refusal.disposition == .channelGone: return .deleted
    case .refused(let refusal): return .failed(reason: "\(refusal)")
    case .malformed(let reply): return .failed(reason: "\(reply)")
    case .notSent(let failure), .unknown(let failure): return .failed(reason: "\(failure)")
    }
  }

  func listChannels() async -> Result<[FieldTrips.ChannelID], ListFailure> {
    do {
      let listed = try await client.listChannels(deadline: Self.listing).get()
      return .success(listed.compactMap { try? FieldTrips.ChannelID($0.text) })
    } catch {
      return .failure(ListFailure(reason: "\(error)"))
    }
  }

  struct ListFailure: Error {
    let reason: String
  }

  // MARK: Broadcasts

  func broadcast(_ order: BroadcastOrder, deadline: Duration) async -> BroadcastAnswer {
    guard let channel = APNs.ChannelID(order.channel.text),
      let priority = PushPriority(rawValue: UInt8(order.priority))
    else { return BroadcastAnswer(outcome: .refused, text: "The channel's ID is none of APNs'.") }
    let payload: [UInt8]
    do throws(PayloadError) {
      payload = try Self.payload(order).encoded()
    } catch {
      log.error("a broadcast cannot be made", ["reason": "\(error)"])
      return BroadcastAnswer(outcome: .refused, text: "\(error)")
    }
    let broadcast = Broadcast(
      to: channel, storage: order.storage.atAPNs, priority: priority,
      keepUntil: order.sentAt + Self.keptFor, payload: payload)
    switch await client.broadcast(broadcast, deadline: deadline) {
    case .accepted: return BroadcastAnswer(outcome: .accepted, text: "200")
    case .refused(let refusal):
      return BroadcastAnswer(outcome: outcome(of: refusal), text: Self.words(refusal))
    case .notSent(let failure): return BroadcastAnswer(outcome: .notSent(), text: "\(failure)")
    case .unknown(let failure): return BroadcastAnswer(outcome: .unknown, text: "\(failure)")
    }
  }

  private static func words(_ refusal: APNsRefusal) -> String {
    "\(refusal.status)" + (refusal.reason.map { " \($0.text)" } ?? "")
  }

  /// APNs keeps the newest message of a channel for eight hours at most; with the whole span late
  /// devices catch up by themselves.
  private static let keptFor = Duration.seconds(8 * 3_600 - 60)

  private static func payload(_ order: BroadcastOrder) -> BroadcastPayload {
    let event: BroadcastPayload.Event =
      order.isEnd
      ? .end(dismissalDate: order.times.dismissal.date(endingAt: order.sentAt))
      : .update(staleDate: order.times.staleDate(sentAt: order.sentAt))
    let alert = order.alert.map {
      LiveActivityAlert(title: .plain($0.title), body: .plain($0.body), sound: $0.sound)
    }
    return BroadcastPayload(
      event, timestampSeconds: order.timestampSeconds,
      contentState: order.type.definition.envelope.wrap(order.contentState), alert: alert)
  }

  private func outcome(of refusal: APNsRefusal) -> BroadcastOutcome {
    switch refusal.disposition {
    case .throttled: return .throttled(retryAfter: refusal.retryAfter)
    case .keepProviderToken: return .providerTokenThrottled(retryAfter: refusal.retryAfter)
    case .channelGone: return .channelGone
    case .retryLater where refusal.status == 500:
      return .serverError(retryAfter: refusal.retryAfter)
    case .retryLater: return .unavailable(retryAfter: refusal.retryAfter)
    case .reconnect, .newProviderToken: return .notSent(retryAfter: refusal.retryAfter)
    case .fixRequest, .fixCredentials, .enableBroadcasts, .dropToken, .channelQuotaReached:
      log.error("APNs refuses a broadcast", ["reason": "\(refusal)"])
      return .refused
    }
  }
}

extension StoragePolicy {
  fileprivate var atAPNs: ChannelStorage {
    switch self {
    case .noStorage: .none
    case .mostRecent: .mostRecent
    }
  }
}
