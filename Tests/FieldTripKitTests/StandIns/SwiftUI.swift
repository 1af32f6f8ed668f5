// Stand-in for SwiftUI; see ActivityKit's. As in the framework, a view belongs to the main actor, and
// what makes or changes one belongs to none.

public import AppIntents
public import Foundation
@_exported public import LocalizedStrings

// MARK: Views

@available(iOS 13.0, *)
@MainActor @preconcurrency
public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: View {
  public var body: Never { fatalError() }
}

@resultBuilder
public struct ViewBuilder {
  public static func buildExpression<Content>(_ content: Content) -> Content where Content: View {
    fatalError()
  }

  public static func buildBlock() -> EmptyView { fatalError() }

  public static func buildBlock<Content>(_ content: Content) -> Content where Content: View {
    fatalError()
  }

  public static func buildBlock<each Content>(
    _ content: repeat each Content
  ) -> TupleView<(repeat each Content)> where repeat each Content: View { fatalError() }

  public static func buildIf<Content>(_ content: Content?) -> Content? where Content: View {
    fatalError()
  }

  public static func buildEither<First, Second>(
    first: First
  ) -> _ConditionalContent<First, Second> where First: View, Second: View { fatalError() }

  public static func buildEither<First, Second>(
    second: Second
  ) -> _ConditionalContent<First, Second> where First: View, Second: View { fatalError() }

  public static func buildLimitedAvailability<Content>(_ content: Content) -> AnyView
  where Content: View { fatalError() }
}

@frozen public nonisolated struct EmptyView: View {
  public init() {}
  @MainActor public var body: Never { fatalError() }
}

@frozen public nonisolated struct AnyView: View {
  public init<V>(_ view: V) where V: View { fatalError() }
  @MainActor public var body: Never { fatalError() }
}

@frozen public nonisolated struct TupleView<T>: View {
  @MainActor public var body: Never { fatalError() }
}

@frozen public nonisolated struct _ConditionalContent<TrueContent, FalseContent> {}

extension _ConditionalContent: View where TrueContent: View, FalseContent: View {
  @MainActor public var body: Never { fatalError() }
}

extension Optional: View where Wrapped: View {
  @MainActor public var body: Never { fatalError() }
}

@frozen public nonisolated struct Text: View, Sendable {
  public init(_ key: LocalizedStringKey) { fatalError() }
  @_disfavoredOverload public init<S>(_ content: S) where S: StringProtocol { fatalError() }
  @MainActor public var body: Never { fatalError() }
}

@frozen public struct LocalizedStringKey: ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) { fatalError() }
}

@frozen public nonisolated struct Image: View, Sendable {
  public init(systemName: String) { fatalError() }
  @MainActor public var body: Never { fatalError() }
}

@frozen public nonisolated struct Spacer: View {
  public init(minLength: CGFloat? = nil) { fatalError() }
  @MainActor public var body: Never { fatalError() }
}

@frozen public nonisolated struct VStack<Content>: View where Content: View {
  public init(
    alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> Content
  ) { fatalError() }
  @MainActor public var body: Never { fatalError() }
}

@frozen public nonisolated struct HStack<Content>: View where Content: View {
  public init(
    alignment: VerticalAlignment = .center, spacing: CGFloat? = nil,
    @ViewBuilder content: () -> Content
  ) { fatalError() }
  @MainActor public var body: Never { fatalError() }
}

@available(iOS 14.0, *)
public nonisolated struct Label<Title, Icon>: View where Title: View, Icon: View {
  @MainActor public var body: Never { fatalError() }
}

@available(iOS 14.0, *)
extension Label where Title == Text, Icon == Image {
  public nonisolated init(_ titleKey: LocalizedStringKey, systemImage name: String) {
    fatalError()
  }

  @_disfavoredOverload
  public nonisolated init<S>(_ title: S, systemImage name: String) where S: StringProtocol {
    fatalError()
  }
}

@available(iOS 14.0, *)
public nonisolated struct ProgressView<Label>: View where Label: View {
  @MainActor public var body: Never { fatalError() }
}

@available(iOS 14.0, *)
extension ProgressView where Label == EmptyView {
  public nonisolated init<V>(value: V?, total: V = 1.0) where V: BinaryFloatingPoint {
    fatalError()
  }
}

public nonisolated struct Button<Label>: View where Label: View {
  @preconcurrency
  public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {
    fatalError()
  }
  @MainActor public var body: Never { fatalError() }
}

@available(iOS 17.0, *)
extension Button {
  public nonisolated init<I>(intent: I, @ViewBuilder label: () -> Label) where I: AppIntent {
    fatalError()
  }
}

// MARK: What views are changed by

extension View {
  public nonisolated func font(_ font: Font?) -> some View { EmptyView() }
  public nonisolated func lineLimit(_ number: Int?) -> some View { EmptyView() }
  public nonisolated func padding(_ length: CGFloat) -> some View { EmptyView() }
  public nonisolated func padding(
    _ edges: Edge.Set = .all, _ length: CGFloat? = nil
  ) -> some View { EmptyView() }
  public nonisolated func opacity(_ opacity: Double) -> some View { EmptyView() }

  @available(iOS 15.0, *)
  public nonisolated func monospacedDigit() -> some View { EmptyView() }

  @available(iOS 15.0, *)
  public nonisolated func foregroundStyle<S>(_ style: S) -> some View where S: ShapeStyle {
    EmptyView()
  }

  @available(iOS 16.0, *)
  public nonisolated func contentTransition(_ transition: ContentTransition) -> some View {
    EmptyView()
  }

  @available(iOS 17.0, *)
  public nonisolated func containerBackground<S>(
    _ style: S, for container: ContainerBackgroundPlacement
  ) -> some View where S: ShapeStyle { EmptyView() }

  @available(iOS 15.0, *)
  @preconcurrency
  public nonisolated func task(
    priority: TaskPriority = .userInitiated, _ action: @escaping @Sendable () async -> Void
  ) -> some View { EmptyView() }

  public nonisolated func accessibilityElement(
    children: AccessibilityChildBehavior = .ignore
  ) -> some View { EmptyView() }

  @available(iOS 14.0, *)
  public nonisolated func accessibilityLabel(_ labelKey: LocalizedStringKey) -> some View {
    EmptyView()
  }

  @available(iOS 14.0, *)
  @_disfavoredOverload
  public nonisolated func accessibilityLabel<S>(_ label: S) -> some View where S: StringProtocol {
    EmptyView()
  }

  @available(iOS 14.0, *)
  public nonisolated func accessibilityHidden(_ hidden: Bool) -> some View { EmptyView() }
}

public struct AccessibilityChildBehavior: Hashable {
  public static let ignore = AccessibilityChildBehavior()
  public static let contain = AccessibilityChildBehavior()
  public static let combine = AccessibilityChildBehavior()
}

@available(iOS 16.0, *)
public struct ContentTransition: Equatable, Sendable {
  public static func numericText(countsDown: Bool = false) -> ContentTransition { fatalError() }
}

@available(iOS 17.0, *)
public struct ContainerBackgroundPlacement: Sendable {}

@frozen public struct Font: Hashable, Sendable {
  public static let title2 = Font()
  public static let title3 = Font()
  public static let headline = Font()
  public static let subheadline = Font()
  public static let body = Font()
  public static let footnote = Font()
  public static let caption = Font()
}

public protocol ShapeStyle: Sendable {}

@frozen public struct Color: ShapeStyle, Hashable, Sendable {}

@available(iOS 15.0, *)
@frozen public struct HierarchicalShapeStyle: ShapeStyle {}

@available(iOS 15.0, *)
extension ShapeStyle where Self == HierarchicalShapeStyle {
  public static var primary: HierarchicalShapeStyle { fatalError() }
  public static var secondary: HierarchicalShapeStyle { fatalError() }
}

@available(iOS 14.0, *)
@frozen public struct BackgroundStyle: ShapeStyle {}

@available(iOS 14.0, *)
extension ShapeStyle where Self == BackgroundStyle {
  public static var background: BackgroundStyle { fatalError() }
}

@frozen public struct HorizontalAlignment: Equatable, Sendable {
  public static let leading = HorizontalAlignment()
  public static let center = HorizontalAlignment()
}

@frozen public struct VerticalAlignment: Equatable, Sendable {
  public static let center = VerticalAlignment()
}

@frozen public enum Edge {
  @frozen public struct Set: OptionSet, Sendable {
    public static let all = Edge.Set(rawValue: 15)
    public let rawValue: Int8

    public init(rawValue: Int8) { self.rawValue = rawValue }
  }
}

// MARK: The environment

@frozen @propertyWrapper
public struct Environment<Value> {
  public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { fatalError() }

  public var wrappedValue: Value { fatalError() }
}

public struct EnvironmentValues {
  @available(iOS 15.0, *)
  public var dynamicTypeSize: DynamicTypeSize {
    get { fatalError() }
    set { fatalError() }
  }

  @available(iOS 16.0, *)
  public var isLuminanceReduced: Bool {
    get { fatalError() }
    set { fatalError() }
  }
}

@available(iOS 15.0, *)
public enum DynamicTypeSize: Hashable, Comparable, CaseIterable, Sendable {
  case xSmall, small, medium, large, xLarge, xxLarge, xxxLarge
  case accessibility1, accessibility2, accessibility3, accessibility4, accessibility5

  public var isAccessibilitySize: Bool { fatalError() }
}

// MARK: Apps, scenes and widgets

@available(iOS 14.0, *)
@MainActor @preconcurrency
public protocol App {
  associatedtype Body: Scene
  @SceneBuilder @MainActor @preconcurrency var body: Self.Body { get }
  @MainActor @preconcurrency init()
}

@available(iOS 14.0, *)
extension App {
  @MainActor @preconcurrency public static func main() { fatalError() }
}

@available(iOS 14.0, *)
@MainActor @preconcurrency
public protocol Scene {}

@available(iOS 14.0, *)
@resultBuilder
public struct SceneBuilder {
  public static func buildBlock<Content>(_ content: Content) -> Content where Content: Scene {
    fatalError()
  }
}

@available(iOS 14.0, *)
public nonisolated struct WindowGroup<Content>: Scene where Content: View {
  public nonisolated init(@ViewBuilder content: () -> Content) { fatalError() }
}

@available(iOS 14.0, *)
@MainActor @preconcurrency
public protocol WidgetConfiguration {
  associatedtype Body: WidgetConfiguration
  @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: WidgetConfiguration {}

@available(iOS 14.0, *)
@MainActor @preconcurrency
public struct EmptyWidgetConfiguration: WidgetConfiguration {
  public init() {}
  public var body: Never { fatalError() }
}

@available(iOS 14.0, *)
extension WidgetConfiguration {
  @MainActor @preconcurrency
  public func configurationDisplayName(
    _ displayNameKey: LocalizedStringKey
  ) -> some WidgetConfiguration { EmptyWidgetConfiguration() }
}

@available(iOS 14.0, *)
@MainActor @preconcurrency
public protocol Widget {
  associatedtype Body: WidgetConfiguration
  @MainActor @preconcurrency init()
  @MainActor @preconcurrency var body: Self.Body { get }
}

@available(iOS 14.0, *)
@MainActor @preconcurrency
public protocol WidgetBundle {
  associatedtype Body: Widget
  @MainActor @preconcurrency init()
  @WidgetBundleBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

@available(iOS 14.0, *)
extension WidgetBundle {
  @MainActor @preconcurrency public static func main() { fatalError() }
}

@available(iOS 14.0, *)
@MainActor @preconcurrency
public struct TupleWidget: Widget {
  public init() {}
  public var body: some WidgetConfiguration { EmptyWidgetConfiguration() }
}

@available(iOS 14.0, *)
@resultBuilder
public struct WidgetBundleBuilder {
  @MainActor public static func buildBlock<each Content>(
    _ content: repeat each Content
  ) -> some Widget where repeat each Content: Widget { TupleWidget() }

  @available(iOS 16.0, *)
  @MainActor public static func buildOptional(
    _ widget: (any Widget & _LimitedAvailabilityWidgetMarker)?
  ) -> some Widget { TupleWidget() }

  @available(iOS 16.0, *)
  @MainActor public static func buildLimitedAvailability(
    _ widget: some Widget
  ) -> any Widget & _LimitedAvailabilityWidgetMarker { TupleWidget() }
}

public protocol _LimitedAvailabilityWidgetMarker {}

@available(iOS 16.0, *)
extension TupleWidget: _LimitedAvailabilityWidgetMarker {}
