internal import Clocks
internal import FieldTrips
internal import JSON
internal import TripStore

extension TripAPI {
  /// How long after a trip's start members without a card are alerted: by then those have been
  /// started who can be.
  private static var startAlertDelay: Duration { .seconds(30) }

  /// Schedules the alert to members whose cards cannot be started: a notification like others, so
  /// each device gets it once, whatever is restarted.
  ///
  /// - Parameter trip: as it was created.
  func scheduleStartAlert(
    of trip: TripID, _ wanted: CreateTripRequest, now: UnixTime
  ) async throws {
    let sendAt = wanted.times.startsAt + Self.startAlertDelay
    guard wanted.alertsWithoutActivity, sendAt < wanted.times.endsAt else { return }
    let alert = wanted.type.startAlert(attributes: wanted.attributes, state: wanted.state)
    var writer = JSONWriter()
    writer.object {
      $0.key("to")
      $0.object {
        $0.member("trip", trip.text)
        $0.member("only", "withoutCard")
      }
      $0.key("alert")
      $0.object {
        $0.member("title", alert.title)
        $0.member("body", alert.body)
      }
      if let sound = alert.sound { $0.member("sound", sound) }
      $0.member("sendAt", DateText.format(sendAt))
      $0.member("expiresAt", DateText.format(wanted.times.endsAt))
    }
    let request = try NotificationRequest.read(writer.finish(), now: nil)
    _ = try await store.createNotification(
      NotificationID(home: trip, name: "start"), request: request.bytes,
      life: NotificationLife(request, at: now, rules: NotificationRules()),
      limit: NotificationAPI.mostOpen, at: now)
  }
}
