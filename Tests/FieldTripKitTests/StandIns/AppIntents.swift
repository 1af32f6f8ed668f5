// Stand-in for AppIntents; see ActivityKit's.

@_exported public import LocalizedStrings

@available(iOS 16.0, *)
public protocol PersistentlyIdentifiable {
  static var persistentIdentifier: String { get }
}

@available(iOS 16.0, *)
public protocol _SupportsAppDependencies {}

@available(iOS 16.0, *)
public protocol AppIntent: PersistentlyIdentifiable, _SupportsAppDependencies, Sendable {
  associatedtype PerformResult: IntentResult

  static var title: LocalizedStringResource { get }

  @available(iOS 17.0, *)
  static var isDiscoverable: Bool { get }

  init()
  func perform() async throws -> Self.PerformResult
}

@available(iOS 16.0, *)
extension AppIntent {
  public typealias Parameter = IntentParameter
  public typealias Dependency = AppDependency

  public static var persistentIdentifier: String { fatalError() }

  @available(iOS 17.0, *)
  public static var isDiscoverable: Bool { fatalError() }
}

@available(iOS 16.0, *)
public protocol SystemIntent: AppIntent {}

@available(iOS 17.0, *)
public protocol LiveActivityIntent: SystemIntent {}

@available(iOS 16.0, *)
public protocol IntentResult: Sendable {}

@available(iOS 16.0, *)
public struct IntentResultContainer<Value, OpensIntent, SnippetView, Dialog>: IntentResult {}

@available(iOS 16.0, *)
extension IntentResult {
  public static func result() -> Self
  where Self == IntentResultContainer<Never, Never, Never, Never> { fatalError() }
}

@available(iOS 16.0, *)
public protocol _IntentValue {}

@available(iOS 16.0, *)
extension String: _IntentValue {}

@available(iOS 16.0, *)
@propertyWrapper
public final class IntentParameter<Value>: Sendable where Value: _IntentValue, Value: Sendable {
  public final var wrappedValue: Value {
    get { fatalError() }
    set { fatalError() }
  }

  public init(title: LocalizedStringResource) { fatalError() }
}

@available(iOS 16.0, *)
@propertyWrapper
public final class AppDependency<Value>: Sendable where Value: Sendable {
  public final var wrappedValue: Value { fatalError() }

  public convenience init(key: AnyHashable? = nil, manager: AppDependencyManager = .shared) {
    fatalError()
  }
}

@available(iOS 16.0, *)
public final class AppDependencyManager {
  public nonisolated(unsafe) static let shared = AppDependencyManager()

  public init() {}

  public final func add<Dependency>(
    key: AnyHashable? = nil,
    dependency dependencyProvider: @autoclosure @escaping () -> Dependency
  ) where Dependency: Sendable { fatalError() }
}
