import Clocks
import FieldTrips
import TripStore

/// The phones of a trip that have its card, as one: they all hear the same.
struct Phone {
  var channel: String?
  var timestampSeconds: Int64 = 0
  var contentState: Bytes = []
  var hasEnded = false
}

/// What phones show.
///
/// An app joins with the state of the join reply and the trip's channel; from then on the system
/// shows what the channel says, whatever is newer by its timestamp.
final class Phones {
  unowned let world: World
  let rules: Rules
  private(set) var byTrip: [TripID: Phone] = [:]

  private let mutation: Mutation?

  init(in world: World, rules: Rules, mutation: Mutation?) {
    self.world = world
    self.rules = rules
    self.mutation = mutation
  }

  /// The app is opened: it takes the state that the service has, and listens to the channel.
  func join(_ trip: TripID, channel: String, contentState: Bytes, stored: Message?) {
    var phone = byTrip[trip] ?? Phone()
    guard !phone.hasEnded, phone.channel != channel else { return }
    world.trace.note(
      world, "phone", mark: 41,
      "of \(TraceText.of(trip)) joins \(channel) with \(TraceText.of(contentState))")
    phone.channel = channel
    phone.contentState = contentState
    phone.timestampSeconds = 0
    byTrip[trip] = phone
    rules.phoneJoined(trip)
    // What the channel keeps comes at once.
    if let stored { receive(stored) }
  }

  func receive(_ message: Message) {
    for (trip, var phone) in byTrip where phone.channel == message.channel {
      guard !phone.hasEnded else {
        if message.timestampSeconds > phone.timestampSeconds { rules.lateNews(message, of: trip) }
        continue
      }
      if message.timestampSeconds <= phone.timestampSeconds, mutation != .timestampsIgnored {
        continue
      }
      phone.timestampSeconds = message.timestampSeconds
      phone.contentState = message.contentState
      phone.hasEnded = message.isEnd
      byTrip[trip] = phone
      rules.phoneShows(phone, of: trip)
    }
  }
}
