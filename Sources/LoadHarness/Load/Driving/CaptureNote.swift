/// One capture as the doors take it.
///
/// Its ID tells its number and when it was scheduled, so that whoever meets it later, as in the
/// service's log, needs to ask nobody.
struct CaptureNote: Sendable {
  /// 0 ..< trips.
  let trip: Int
  /// Of its trip, from 1 on.
  let number: Int
  /// Since the beginning of the load.
  let scheduledAt: Int64

  var id: String { "c\(number)-\(scheduledAt / 1_000)" }

  /// The place of the capture with this number. With the sequence, it says which card is right.
  static func place(of number: Int) -> String { "Place \(number % 7 + 1)" }

  /// JSON without a detour: at tens of thousands a second the harness must not be what is slow.
  func written(tripID: String, members: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(160)
    bytes += #"{"id":""#.utf8
    bytes += id.utf8
    bytes += #"","trip":""#.utf8
    bytes += tripID.utf8
    bytes += #"","member":""#.utf8
    bytes += Self.member(number % max(1, members), of: trip).utf8
    bytes += #"","place":""#.utf8
    bytes += Self.place(of: number).utf8
    bytes += #"","sequence":"#.utf8
    bytes += String(number).utf8
    bytes += "}".utf8
    return bytes
  }

  /// Nobody is on two of the load's trips, as it is with most people.
  static func member(_ number: Int, of trip: Int) -> String { "m\(number)-\(trip)" }

  /// When a capture with this ID was scheduled, since the beginning of the load.
  static func scheduledAt(id: String) -> Int64? {
    guard id.hasPrefix("c"), let dash = id.firstIndex(of: "-") else { return nil }
    return Int64(id[id.index(after: dash)...]).map { $0 * 1_000 }
  }
}
