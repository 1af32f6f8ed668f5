package import Clocks

// Crowds of phones on a channel.
extension SimulatedAPNs {
  var deliveryContext: DeliveryContext {
    DeliveryContext(
      model: configuration.delivery, rules: configuration.phones, seed: configuration.seed)
  }

  /// Adds phones that start the same activity on a channel now, as an app does after joining.
  ///
  /// - Parameters:
  ///   - contentState: what the app starts with, as JSON text.
  ///   - staleDateSeconds: what the app gave the card, in seconds since 1970.
  /// - Returns: the phones' numbers.
  package mutating func addCrowd(
    _ count: Int, bundleID: String, channelID: String, contentState: [UInt8],
    traits: ActivityTraits = ActivityTraits(), staleDateSeconds: Int64? = nil, now: UnixTime
  ) throws(PhoneError) -> Range<Int> {
    guard count > 0 else { throw .noPhones }
    guard let channel = apps[bundleID]?.channels[channelID] else {
      throw .unknownChannel(channelID)
    }
    let first = nextPhone
    nextPhone += count
    let activity = LiveActivity(
      contentState: ContentState(contentState), startedAt: now,
      timestampSeconds: configuration.phones.localStartIsStamped ? now.wholeSeconds : nil,
      staleDateSeconds: staleDateSeconds)
    let welcome =
      configuration.channels.newSubscribersGetStoredMessage
      ? channel.storedMessage(at: now) : nil
    let crowd = PhoneCrowd(
      firstPhone: first, count: count, activity: activity, traits: traits, welcome: welcome)
    apps[bundleID]?.channels[channelID]?.crowds.append(crowd)
    crowds.add(.init(firstPhone: first, count: count, bundleID: bundleID, channelID: channelID))
    return first..<nextPhone
  }

  /// Brings the crowds of a channel up to date when many broadcasts lie behind them.
  ///
  /// What is left is what may still be on its way; folding again waits until as much has come
  /// again, so that the work per broadcast stays bounded.
  mutating func foldCrowds(_ bundleID: String, _ channelID: String, now: UnixTime) {
    guard apps[bundleID]?.channels[channelID]?.isFoldingDue ?? false else { return }
    let context = deliveryContext
    apps[bundleID]?.channels[channelID]?.fold(until: now, context)
  }

  /// Does so for all channels: before the way that pushes travel changes.
  mutating func foldAllCrowds(now: UnixTime) {
    let context = deliveryContext
    for bundleID in Array(apps.keys) {
      for channelID in Array((apps[bundleID]?.channels ?? [:]).keys) {
        apps[bundleID]?.channels[channelID]?.fold(until: now, context)
      }
    }
  }

  /// A channel, deleted ones included: phones may still be on it.
  package func channel(_ bundleID: String, _ channelID: String) -> Channel? {
    apps[bundleID]?.channels[channelID] ?? apps[bundleID]?.deletedChannels[channelID]
  }
}

extension SimulatedAPNs {
  /// The living channels of an app, in the order of creation.
  package mutating func channels(of bundleID: String) -> [Channel] {
    orderedChannelIDs(of: bundleID).compactMap { apps[bundleID]?.channels[$0] }
  }
}

extension Channel {
  var isFoldingDue: Bool { inFlight.count >= foldAt }

  /// The crowd that a phone belongs to. Crowds are in the order of their numbers.
  func crowd(of phone: Int) -> PhoneCrowd? {
    var low = 0
    var high = crowds.count
    while low < high {
      let middle = (low + high) / 2
      if crowds[middle].firstPhone <= phone { low = middle + 1 } else { high = middle }
    }
    guard low > 0, crowds[low - 1].contains(phone) else { return nil }
    return crowds[low - 1]
  }

  mutating func fold(until now: UnixTime, _ context: DeliveryContext) {
    for index in crowds.indices { crowds[index].fold(until: now, inFlight: inFlight, context) }
    // A crowd may have folded less than up to now, but never past a push that is still under way.
    let foldedByAll = crowds.lazy.map(\.foldedUntil).min() ?? now
    inFlight.removeAll { $0.acceptedAt + context.model.longestDelay <= foldedByAll }
    foldAt = 2 * inFlight.count + 32
  }
}

/// Why a phone could not be made or told something.
package enum PhoneError: Error, Sendable, Equatable, CustomStringConvertible {
  case noPhones
  case unknownPhone(Int)
  case unknownChannel(String)
  case unknownApp(String)
  case noActivity(phone: Int)
  case notAllowed(String)

  package var description: String {
    switch self {
    case .noPhones: "A crowd needs at least one phone."
    case .unknownPhone(let phone): "There is no phone \(phone)."
    case .unknownChannel(let channelID):
      "The app has no channel \(channelID): a phone that starts an activity on it fails."
    case .unknownApp(let bundleID): "No app \(bundleID) is registered with this simulator."
    case .noActivity(let phone): "Phone \(phone) has no such activity."
    case .notAllowed(let reason): reason
    }
  }
}
