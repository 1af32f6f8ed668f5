// swift-tools-version: 6.2

import PackageDescription

// The plan of the house: each target is a room, and imports only rooms that stand above it here.
// Pure rooms know neither sockets nor clocks; they build without unsafe pointers.

let pure: [SwiftSetting] = common + [.strictMemorySafety()]

var common: [SwiftSetting] {
  [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ]
}

let package = Package(
  name: "fieldcast",
  // Of the kit for apps; the service is for Linux.
  platforms: [.iOS(.v16), .macOS(.v13), .watchOS(.v9), .tvOS(.v16)],
  products: [
    .executable(name: "fieldcast", targets: ["fieldcast"]),
    .library(name: "APNs", targets: ["APNs"]),
    .library(name: "FieldTripKit", targets: ["FieldTripKit"]),
  ],
  targets: [
    // C libraries, one small target each.
    .target(name: "CLinux"),
    .target(
      name: "COpenSSL", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .target(name: "CNghttp2", linkerSettings: [.linkedLibrary("nghttp2")]),
    .target(name: "CHiredis", linkerSettings: [.linkedLibrary("hiredis")]),
    // Files that become part of the program.
    .target(name: "CDocuments", exclude: ["openapi.json"]),

    // Pure rooms.
    .target(
      name: "Clocks", swiftSettings: pure, linkerSettings: [.linkedLibrary("m")]),
    .target(name: "JSON", swiftSettings: pure),
    .target(name: "Randomness", swiftSettings: pure),
    .target(
      name: "FieldTrips", dependencies: ["Clocks", "JSON", "Randomness"], swiftSettings: pure),
    .target(name: "FieldTripKit", swiftSettings: pure),

    // Rooms that touch the world.
    .target(name: "Crypto", dependencies: ["COpenSSL"], swiftSettings: common),
    .target(
      name: "Transport", dependencies: ["CLinux", "COpenSSL", "Clocks"], swiftSettings: common),
    .target(
      name: "HTTP", dependencies: ["CNghttp2", "Transport", "Crypto", "Clocks"],
      swiftSettings: common),
    .target(
      name: "Redis", dependencies: ["CHiredis", "Transport", "Clocks"], swiftSettings: common),
    .target(
      name: "APNs", dependencies: ["HTTP", "Transport", "Crypto", "JSON", "Clocks"],
      swiftSettings: common),
    .target(
      name: "APNsSimulator",
      dependencies: ["HTTP", "Transport", "Crypto", "JSON", "Clocks", "Randomness"],
      swiftSettings: common),
    .target(
      name: "TripStore", dependencies: ["Redis", "FieldTrips", "JSON", "Clocks", "Transport"],
      swiftSettings: common),
    .target(
      name: "FieldcastServer",
      dependencies: [
        "TripStore", "Redis", "APNs", "HTTP", "Transport", "Crypto", "FieldTrips", "FieldTripKit",
        "JSON", "Clocks", "Randomness", "CDocuments",
      ],
      // The dashboard is part of the program, which stays a single file.
      resources: [
        "dashboard.html", "dashboard.css", "phone.css", "icon.svg", "dashboard.js", "books.js",
        "card.js", "chart.js", "dom.js", "fleet.js", "stream.js", "trip.js", "trips.js", "words.js",
      ].map { .embedInCode("Dashboard/Page/" + $0) },
      swiftSettings: common),
    .target(
      name: "LoadHarness",
      dependencies: ["HTTP", "Redis", "Transport", "FieldTrips", "JSON", "Clocks", "Randomness"],
      swiftSettings: common),
    .target(
      name: "EngineBench",
      dependencies: [
        "APNs", "HTTP", "Transport", "Crypto", "JSON", "Clocks", "CNghttp2", "CLinux",
      ],
      swiftSettings: common),
    .executableTarget(
      name: "fieldcast",
      dependencies: [
        "FieldcastServer", "LoadHarness", "EngineBench", "APNsSimulator", "APNs", "TripStore",
        "Redis", "HTTP",
        "Transport", "Crypto", "FieldTrips", "JSON", "Clocks",
      ],
      swiftSettings: common),

    // Clusters and Sentinels of our own, for tests in any room.
    .target(
      name: "RedisStage", dependencies: ["Redis", "Transport", "Clocks"], swiftSettings: common),

    // Tests, a target a room.
    .testTarget(name: "JSONTests", dependencies: ["JSON", "Randomness"], swiftSettings: common),
    .testTarget(
      name: "FieldTripsTests", dependencies: ["FieldTrips", "JSON", "Clocks", "Randomness"],
      swiftSettings: common),
    .testTarget(
      name: "FieldTripKitTests",
      dependencies: ["FieldTripKit", "FieldTrips", "JSON", "Clocks", "Transport"],
      exclude: ["StandIns"], swiftSettings: common),
    .testTarget(name: "CryptoTests", dependencies: ["Crypto", "COpenSSL"], swiftSettings: common),
    .testTarget(
      name: "TransportTests", dependencies: ["Transport", "Clocks", "Randomness"],
      swiftSettings: common),
    .testTarget(
      name: "HTTPTests", dependencies: ["HTTP", "Transport", "Crypto", "Clocks", "Randomness"],
      swiftSettings: common),
    .testTarget(
      name: "RedisTests", dependencies: ["Redis", "RedisStage", "Transport", "Crypto", "Clocks"],
      swiftSettings: common),
    .testTarget(
      name: "APNsTests",
      dependencies: ["APNs", "HTTP", "Transport", "Crypto", "JSON", "Clocks"],
      swiftSettings: common),
    // The library as strangers see it: without access to what the rooms share among themselves.
    .testTarget(
      name: "APNsLibraryTests", dependencies: ["APNs", "fieldcast"], packageAccess: false,
      swiftSettings: common),
    .testTarget(
      name: "APNsSimulatorTests",
      dependencies: ["APNsSimulator", "HTTP", "Transport", "Crypto", "JSON", "Clocks"],
      swiftSettings: common),
    .testTarget(
      name: "TripStoreTests",
      dependencies: [
        "TripStore", "Redis", "RedisStage", "Transport", "FieldTrips", "JSON", "Clocks",
        "Randomness",
      ],
      swiftSettings: common),
    .testTarget(
      name: "LoadHarnessTests",
      dependencies: ["LoadHarness", "FieldTrips", "JSON", "Clocks"],
      swiftSettings: common),
    .testTarget(
      name: "EngineBenchTests",
      dependencies: ["EngineBench", "Transport", "Crypto", "Clocks", "JSON", "fieldcast"],
      swiftSettings: common),
    // The whole service against a real Redis and the simulator: the rules of the design.
    .testTarget(
      name: "ServiceTests",
      dependencies: [
        "FieldcastServer", "APNsSimulator", "LoadHarness", "APNs", "TripStore", "Redis",
        "RedisStage", "HTTP", "Transport", "Crypto", "FieldTrips", "FieldTripKit", "JSON", "Clocks",
        // Some tests run the program itself, and kill it.
        "fieldcast", "Randomness",
      ],
      exclude: ["Description/Clients"], swiftSettings: common),
    // The service's own parts, many times over, on virtual time: the rules whatever goes wrong.
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "FieldcastServer", "APNs", "TripStore", "Redis", "HTTP", "Transport", "FieldTrips", "JSON",
        "Clocks", "Randomness",
      ],
      swiftSettings: common),
    // Others' clients against the simulator, and the engine against others' servers and faults.
    .testTarget(
      name: "InteroperabilityTests",
      dependencies: [
        "APNs", "APNsSimulator", "HTTP", "Transport", "Crypto", "JSON", "Clocks",
      ],
      exclude: ["Clients"], swiftSettings: common),
    // The command line, and that rooms import only what the plan allows.
    .testTarget(
      name: "HouseTests", dependencies: ["fieldcast", "Transport"], swiftSettings: common),
  ],
  swiftLanguageModes: [.v6]
)

// `FIELDCAST_ROOMS=engine swift test` builds the push engine alone and what it is proven with: in
// minutes where the whole takes many, as with a sanitizer. `FIELDCAST_ROOMS=simulation` does so for
// the simulation of many nodes.
let below: Set = [
  "CLinux", "COpenSSL", "CNghttp2", "Clocks", "JSON", "Randomness", "Crypto", "Transport", "HTTP",
  "APNs",
]
let rooms: [String: Set<String>] = [
  "engine": below.union([
    "APNsSimulator", "TransportTests", "HTTPTests", "APNsTests", "InteroperabilityTests",
  ]),
  "simulation": below.union([
    "CHiredis", "Redis", "FieldTrips", "FieldTripKit", "TripStore", "FieldcastServer",
    "SimulationTests",
  ]),
]
if let wanted = Context.environment["FIELDCAST_ROOMS"].flatMap({ rooms[$0] }) {
  package.targets.removeAll { !wanted.contains($0.name) }
  package.products.removeAll { $0.name != "APNs" }
}
