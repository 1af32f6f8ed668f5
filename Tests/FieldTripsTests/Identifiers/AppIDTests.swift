import FieldTrips
import Testing

@Suite struct `An app's ID` {
  @Test func `is named by bundle and environment`() throws {
    let app = try AppID(bundleID: "com.example.trips", environment: .development)
    #expect("\(app)" == "app:com.example.trips:development")
    for text in ["", "a b", "com.example/trips", "{x}", String(repeating: "a", count: 156)] {
      #expect(throws: IdentifierError.self) {
        try AppID(bundleID: text, environment: .production)
      }
    }
  }
}
