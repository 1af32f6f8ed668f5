internal import Clocks
internal import FieldTrips
internal import JSON
internal import Transport
internal import TripStore

/// An alert on its way to cards.
struct PendingAlert: Sendable {
  let text: AlertText
  /// Who has a token was sent it already, when APNs refused the broadcast that it went along with.
  var isForChannelAlone = false
}

/// A trip of a partition that this node owns, as it stands in memory: a copy of what Redis holds,
/// and the publisher's state.
///
/// It can be thrown away at any time and is read again when needed.
///
/// `@unchecked Sendable` is right because only the owner touches its state, on the owner's loop;
/// tasks of the owner hand it on.
final class OwnedTrip: @unchecked Sendable {
  let id: TripID
  /// Its partition, as long as that is ours.
  let holding: Holding
  /// Cleared when it is thrown away: who waited in between must not touch it any more.
  var isHeld = true
  let definition: TripDefinition
  let type: ActivityType
  let mapper: Mapper
  var card: Card
  var revision: Revision
  private(set) var life: TripLife
  var publisher: ChannelPublisher
  /// Of its members with update tokens; nil while there are none.
  var waves: TokenWaves?
  /// Whose cards are to be started.
  var starts = StartAgenda()
  /// The oldest state that a start carried to a channel which keeps none, while it may be that the
  /// new card missed a newer one.
  var revisionStarted: Revision?
  /// What was reserved last for single cards.
  var reservedForSome: (purpose: BroadcastPurpose, state: ReservedState)?
  /// Times in a row that APNs refused starts for now.
  var startFailures = 0
  /// Goes along with the next priority-10 broadcast.
  var alert: PendingAlert?
  /// For the timeline: the triggers that no broadcast at priority 10 has carried.
  var waiting: TriggerNotes
  /// When the last answer to a broadcast came.
  var answeredAt: Moment?
  /// Since when it stands in the app's queue.
  var queuedSince: Moment?
  /// The publisher's only timer.
  var timer: LoopTimer?
  /// The state with which it was read, where an earlier definition of its type made the stored one:
  /// what that showed may be withheld by now.
  private let adopted: (revision: Revision, state: [UInt8])?
  /// Set while the channel is being asked for, so that it is asked for once.
  var isOpeningChannel = false
  /// The owner's tasks that are under way for this trip: broadcasts, channel deletions.
  var tasks = 0

  /// - Throws: what is wrong with the record, such as an activity type that is not configured.
  init(
    _ record: TripRecord, in holding: Holding, types: [String: ActivityType],
    policy: PublishingPolicy, clock: ServiceClock
  ) throws(Refusal) {
    guard let type = types[record.definition.typeName] else {
      throw Refusal(
        Problem(
          .unknownActivityType,
          "The trip \(record.id) is of the activity type \(record.definition.typeName), "
            + "which is not configured here. Give this node the activity types that the others "
            + "have, or stop it, so that another takes its trips over."))
    }
    id = record.id
    self.holding = holding
    definition = record.definition
    self.type = type
    let attributes = try JSONText(stored: record.definition.attributes)
    mapper = Mapper(type: type, attributes: attributes)
    let state = try type.adopting(try ContentState(stored: record.contentState))
    card = Card(state: state, memory: try MapperMemory(stored: record.mapperMemory))
    adopted = state.bytes == record.contentState ? nil : (record.revision, state.bytes)
    waiting = TriggerNotes(stored: record.waiting)
    revision = record.revision
    life = record.life
    if record.memberCounts[.updateToken, default: 0] > 0 { waves = TokenWaves() }
    publisher = ChannelPublisher(policy: policy, restoring: record, clock: clock)
    // Cards still show what they were sent before the type changed.
    if adopted != nil { publisher.refresh() }
  }

  /// What the store has reserved to be sent, as the trip's type is now. All that was committed since
  /// the trip was read was made by that.
  func current(_ reserved: ReservedState) -> ReservedState {
    guard let adopted, adopted.revision == reserved.revision else { return reserved }
    var current = reserved
    current.contentState = adopted.state
    return current
  }

  /// Whether nothing of it is under way, and nothing will be before its next due item or trigger:
  /// it has yet to start, or has ended and APNs knows.
  var isResting: Bool {
    guard !isOpeningChannel, tasks == 0 else { return false }
    return switch life.phase {
    case .scheduled: life.channel != .opening
    case .ended: true
    case .live, .ending: false
    }
  }

  /// Whether there is someone to publish to: who listens on the channel or, without one, who has a
  /// token.
  var hasAudience: Bool {
    life.channel.openID != nil || (waves != nil && life.mayPublishUpdate)
  }

  /// Takes over what the store holds of the trip's life.
  func adopt(_ life: TripLife) {
    let channel = self.life.channel.openID
    self.life = life
    guard life.channel.openID != nil, life.channel.openID != channel else { return }
    publisher.channelReplaced()
    // What went out by token while there was no channel is due on it too, for who joins late.
    if waves != nil { publisher.refresh() }
  }
}

extension ChannelPublisher {
  fileprivate init(policy: PublishingPolicy, restoring record: TripRecord, clock: ServiceClock) {
    let durable = Durable(
      revision: record.revision, publishedRevision: record.publishedRevision,
      lastTimestampSeconds: record.lastTimestampSeconds, anchor: record.anchor,
      ratePerHour: record.ratePerHour)
    self.init(policy: policy, restoring: durable, at: clock.now, wall: clock.wall)
  }
}

extension JSONText {
  /// Attributes as the store kept them.
  init(stored bytes: [UInt8]) throws(Refusal) {
    do throws(JSONError) {
      self = try JSONText(validating: bytes)
    } catch {
      throw Refusal(error, at: "/attributes")
    }
  }
}
