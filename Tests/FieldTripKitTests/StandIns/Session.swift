// What the README's code leaves to the app.

import FieldTripKit
import SwiftUI

struct Session: Sendable {
  static let current = Session()

  let deviceID = "anna-phone"
  let latestTrip: String? = nil

  func token() async throws -> String? { nil }
}

struct TripScreen: View {
  let reporter: CardReporter

  var body: some View { Text("Trips") }
}
