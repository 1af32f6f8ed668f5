internal import FieldTrips
internal import HTTP
internal import TripStore

extension TripAPI {
  // MARK: GET /v1/trips/{trip}/timeline

  /// Why phones show what they show: what waits now and for what, and the last broadcasts, each with
  /// the triggers that it carried.
  func readTimeline(_ text: String) async -> HTTPResponse {
    await answering {
      let trip = try tripID(text)
      guard let timeline = try await owner.timeline(of: trip) else {
        throw ProblemError(.unknownTrip(trip.text))
      }
      return .json(200, timeline.written(), ["cache-control": "no-store"])
    }
  }
}
