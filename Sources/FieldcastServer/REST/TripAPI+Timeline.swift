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
      // The broadcasts first: what is accepted meanwhile is then missing among them, and not
      // among what waits.
      let sends = try await store.timeline(of: trip).compactMap { SendRecord(stored: $0) }
      let record = try await record(of: trip)
      let timeline = TripTimeline(
        record: record, type: settings.type(named: record.definition.typeName), sends: sends,
        present: await owner.present(of: trip), now: clock.wall)
      return .json(200, timeline.written(), ["cache-control": "no-store"])
    }
  }
}
