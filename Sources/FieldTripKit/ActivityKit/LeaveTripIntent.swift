#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  public import AppIntents

  /// Leaves a trip, from a button on its card: the app is not opened for it.
  ///
  /// The app gives the reporter at its launch:
  /// `AppDependencyManager.shared.add(dependency: reporter)`.
  @available(iOS 17.0, *)
  public struct LeaveTripIntent: LiveActivityIntent {
    public static let title: LocalizedStringResource = "Leave the trip"
    public static var isDiscoverable: Bool { false }

    @Parameter(title: "Trip")
    public var trip: String

    @Dependency
    private var reporter: CardReporter

    public init() {}

    public init(trip: String) { self.trip = trip }

    public func perform() async throws -> some IntentResult {
      await TripCards<FieldTripAttributes>(reporter: reporter).endCards(of: trip)
      await TripCards<ConversationTurnAttributes>(reporter: reporter).endCards(of: trip)
      await TripCards<JobProgressAttributes>(reporter: reporter).endCards(of: trip)
      try await reporter.client.leave(trip, member: reporter.member)
      return .result()
    }
  }
#endif
