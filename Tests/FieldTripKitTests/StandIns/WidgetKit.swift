// Stand-in for WidgetKit; see ActivityKit's.

public import ActivityKit
public import Foundation
public import SwiftUI

// MARK: Live Activities

@available(iOS 16.1, *)
public struct ActivityViewContext<Attributes> where Attributes: ActivityAttributes {
  public let attributes: Attributes
  public let state: Attributes.ContentState
  public let activityID: String

  @available(iOS 16.2, *)
  public var isStale: Bool { fatalError() }
}

@available(iOS 16.1, *)
@MainActor @preconcurrency
public struct ActivityConfiguration<Attributes>: WidgetConfiguration
where Attributes: ActivityAttributes {
  @MainActor @preconcurrency
  public init<Content>(
    for attributesType: Attributes.Type,
    @ViewBuilder content: @escaping (ActivityViewContext<Attributes>) -> Content,
    dynamicIsland: @escaping (ActivityViewContext<Attributes>) -> DynamicIsland
  ) where Content: View { fatalError() }

  public var body: some WidgetConfiguration { EmptyWidgetConfiguration() }
}

@available(iOS 16.1, *)
public struct DynamicIsland {
  public init<Expanded, CompactLeading, CompactTrailing, Minimal>(
    @DynamicIslandExpandedContentBuilder expanded:
      @escaping () -> DynamicIslandExpandedContent<
        Expanded
      >,
    @ViewBuilder compactLeading: @escaping () -> CompactLeading,
    @ViewBuilder compactTrailing: @escaping () -> CompactTrailing,
    @ViewBuilder minimal: @escaping () -> Minimal
  ) where Expanded: View, CompactLeading: View, CompactTrailing: View, Minimal: View {
    fatalError()
  }

  public func keylineTint(_ color: Color?) -> DynamicIsland { fatalError() }
}

@available(iOS 16.1, *)
public struct DynamicIslandExpandedRegionPosition: Equatable, Sendable {
  public static let leading = DynamicIslandExpandedRegionPosition()
  public static let trailing = DynamicIslandExpandedRegionPosition()
  public static let center = DynamicIslandExpandedRegionPosition()
  public static let bottom = DynamicIslandExpandedRegionPosition()
}

@available(iOS 16.1, *)
public struct DynamicIslandExpandedRegion<Content> where Content: View {
  public init(
    _ position: DynamicIslandExpandedRegionPosition, priority: Double = 0,
    @ViewBuilder content: () -> Content
  ) { fatalError() }
}

@available(iOS 16.1, *)
public struct DynamicIslandExpandedContent<Content> where Content: View {}

@available(iOS 16.1, *)
@resultBuilder
public struct DynamicIslandExpandedContentBuilder {
  public static func buildPartialBlock<C>(
    first: DynamicIslandExpandedRegion<C>
  ) -> DynamicIslandExpandedContent<some View> { DynamicIslandExpandedContent<EmptyView>() }

  public static func buildPartialBlock<C0, C1>(
    accumulated: DynamicIslandExpandedContent<C0>, next: DynamicIslandExpandedRegion<C1>
  ) -> DynamicIslandExpandedContent<some View> { DynamicIslandExpandedContent<EmptyView>() }
}

// MARK: Widgets

@available(iOS 14.0, *)
public protocol TimelineEntry {
  var date: Date { get }
}

@available(iOS 14.0, *)
public struct TimelineReloadPolicy: Equatable {
  public static let atEnd = TimelineReloadPolicy()
  public static let never = TimelineReloadPolicy()

  public static func after(_ date: Date) -> TimelineReloadPolicy { fatalError() }
}

@available(iOS 14.0, *)
public struct Timeline<EntryType> where EntryType: TimelineEntry {
  public let entries: [EntryType]
  public let policy: TimelineReloadPolicy

  public init(entries: [EntryType], policy: TimelineReloadPolicy) { fatalError() }
}

@available(iOS 14.0, *)
public struct TimelineProviderContext {}

@available(iOS 14.0, *)
public protocol TimelineProvider {
  associatedtype Entry: TimelineEntry
  typealias Context = TimelineProviderContext

  func placeholder(in context: Self.Context) -> Self.Entry

  @preconcurrency
  func getSnapshot(in context: Self.Context, completion: @escaping @Sendable (Self.Entry) -> Void)

  @preconcurrency
  func getTimeline(
    in context: Self.Context, completion: @escaping @Sendable (Timeline<Self.Entry>) -> Void)
}

@available(iOS 14.0, *)
@MainActor @preconcurrency
public struct StaticConfiguration<Content>: WidgetConfiguration where Content: View {
  @MainActor @preconcurrency
  public init<Provider>(
    kind: String, provider: Provider,
    @ViewBuilder content: @escaping (Provider.Entry) -> Content
  ) where Provider: TimelineProvider { fatalError() }

  public var body: some WidgetConfiguration { EmptyWidgetConfiguration() }
}

@available(iOS 17.0, *)
extension ContainerBackgroundPlacement {
  public static var widget: ContainerBackgroundPlacement { fatalError() }
}

@available(iOS 26.0, *)
public struct WidgetPushInfo: Sendable {
  public let token: Data
}

@available(iOS 14.0, *)
public struct WidgetInfo {
  public let kind: String
}

@available(iOS 26.0, *)
public protocol WidgetPushHandler {
  init()
  func pushTokenDidChange(_ pushInfo: WidgetPushInfo, widgets: [WidgetInfo])
}

@available(iOS 26.0, *)
extension WidgetConfiguration {
  @MainActor @preconcurrency
  public func pushHandler(
    _ pushHandlerType: any WidgetPushHandler.Type
  ) -> some WidgetConfiguration { EmptyWidgetConfiguration() }
}
