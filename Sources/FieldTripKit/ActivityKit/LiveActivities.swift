#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  internal import ActivityKit
  public import SwiftUI
  public import WidgetKit

  /// The Live Activity of a field trip, for the app's widget bundle.
  @available(iOS 16.2, *)
  public struct FieldTripLiveActivity: Widget {
    public init() {}

    public var body: some WidgetConfiguration {
      ActivityConfiguration(for: FieldTripAttributes.self) { context in
        LockScreenCard(face: context.face, trip: context.attributes.tripID)
      } dynamicIsland: { context in
        DynamicIsland(showing: context.face)
      }
    }
  }

  /// The Live Activity of a turn of a conversation.
  @available(iOS 16.2, *)
  public struct ConversationTurnLiveActivity: Widget {
    public init() {}

    public var body: some WidgetConfiguration {
      ActivityConfiguration(for: ConversationTurnAttributes.self) { context in
        LockScreenCard(face: context.face)
      } dynamicIsland: { context in
        DynamicIsland(showing: context.face)
      }
    }
  }

  /// The Live Activity of a job.
  @available(iOS 16.2, *)
  public struct JobProgressLiveActivity: Widget {
    public init() {}

    public var body: some WidgetConfiguration {
      ActivityConfiguration(for: JobProgressAttributes.self) { context in
        LockScreenCard(face: context.face)
      } dynamicIsland: { context in
        DynamicIsland(showing: context.face)
      }
    }
  }

  @available(iOS 16.2, *)
  extension ActivityViewContext where Attributes: FacedCardAttributes {
    /// What the card says now.
    public var face: CardFace { attributes.face(showing: state, isStale: isStale) }
  }
#endif
