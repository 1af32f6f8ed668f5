// Stand-in for ActivityKit: the declarations that the kit meets, as Apple documents them, so that the
// kit's code for iOS can be type-checked where there is no iOS. It does nothing.
//
// As in the framework, `Activity` is a class that is not `Sendable` and belongs to no actor, and its
// `async` methods leave the caller's actor: it is compiled in Swift 5 mode, without upcoming features.

public import Foundation
@_exported public import LocalizedStrings

@available(iOS 16.1, *)
public protocol ActivityAttributes: Decodable, Encodable {
  associatedtype ContentState: Decodable, Encodable, Hashable
}

@available(iOS 16.1, *)
public class Activity<Attributes>: Identifiable where Attributes: ActivityAttributes {
  public typealias ContentState = Attributes.ContentState
  public typealias ID = String

  @available(iOS 16.2, *)
  public static func request(
    attributes: Attributes, content: ActivityContent<Activity<Attributes>.ContentState>,
    pushType: PushType? = nil
  ) throws -> Activity<Attributes> { fatalError() }

  @available(iOS 18.0, *)
  public static func request(
    attributes: Attributes, content: ActivityContent<Activity<Attributes>.ContentState>,
    pushType: PushType? = nil, style: ActivityStyle
  ) throws -> Activity<Attributes> { fatalError() }

  @available(iOS 26.0, *)
  public static func request(
    attributes: Attributes, content: ActivityContent<Activity<Attributes>.ContentState>,
    pushType: PushType? = nil, style: ActivityStyle, alertConfiguration: AlertConfiguration,
    start: Date
  ) throws -> Activity<Attributes> { fatalError() }

  public static var activities: [Activity<Attributes>] { fatalError() }
  public static var activityUpdates: Activity<Attributes>.ActivityUpdates { fatalError() }

  public final let id: String
  public final let attributes: Attributes
  public var activityState: ActivityState { fatalError() }
  public var activityStateUpdates: Activity<Attributes>.ActivityStateUpdates { fatalError() }

  @available(iOS 16.2, *)
  public var content: ActivityContent<Activity<Attributes>.ContentState> { fatalError() }

  @available(iOS 16.2, *)
  public var contentUpdates: Activity<Attributes>.ContentUpdates { fatalError() }

  public var pushToken: Data? { fatalError() }
  public var pushTokenUpdates: Activity<Attributes>.PushTokenUpdates { fatalError() }

  @available(iOS 17.2, *)
  public static var pushToStartToken: Data? { fatalError() }

  @available(iOS 17.2, *)
  public static var pushToStartTokenUpdates: Activity<Attributes>.PushTokenUpdates { fatalError() }

  @available(iOS 16.2, *)
  public func update(_ content: ActivityContent<Activity<Attributes>.ContentState>) async {
    fatalError()
  }

  @available(iOS 17.2, *)
  public func update(
    _ content: ActivityContent<Activity<Attributes>.ContentState>,
    alertConfiguration: AlertConfiguration? = nil, timestamp: Date
  ) async { fatalError() }

  @available(iOS 16.2, *)
  public func end(
    _ content: ActivityContent<Activity<Attributes>.ContentState>?,
    dismissalPolicy: ActivityUIDismissalPolicy = .default
  ) async { fatalError() }

  @available(iOS 17.2, *)
  public func end(
    _ content: ActivityContent<Activity<Attributes>.ContentState>?,
    dismissalPolicy: ActivityUIDismissalPolicy = .default, timestamp: Date
  ) async { fatalError() }

  init(id: String, attributes: Attributes) {
    self.id = id
    self.attributes = attributes
  }
}

@available(iOS 16.1, *)
extension Activity {
  public struct ActivityUpdates: AsyncSequence {
    public typealias Element = Activity<Attributes>

    public struct Iterator: AsyncIteratorProtocol {
      public func next() async -> Activity<Attributes>? { fatalError() }
    }

    public func makeAsyncIterator() -> Iterator { fatalError() }
  }

  public struct ActivityStateUpdates: AsyncSequence {
    public typealias Element = ActivityState

    public struct Iterator: AsyncIteratorProtocol, Sendable {
      public func next() async -> ActivityState? { fatalError() }
    }

    public func makeAsyncIterator() -> Iterator { fatalError() }
  }

  @available(iOS 16.2, *)
  public struct ContentUpdates: AsyncSequence {
    public typealias Element = ActivityContent<Activity<Attributes>.ContentState>

    public struct Iterator: AsyncIteratorProtocol {
      public func next() async -> ActivityContent<Activity<Attributes>.ContentState>? {
        fatalError()
      }
    }

    public func makeAsyncIterator() -> Iterator { fatalError() }
  }

  public struct PushTokenUpdates: AsyncSequence {
    public typealias Element = Data

    public struct Iterator: AsyncIteratorProtocol {
      public func next() async -> Data? { fatalError() }
    }

    public func makeAsyncIterator() -> Iterator { fatalError() }
  }
}

@available(iOS 16.2, *)
public struct ActivityContent<State> where State: Decodable, State: Encodable, State: Hashable {
  public let state: State
  public let staleDate: Date?
  public let relevanceScore: Double

  public init(state: State, staleDate: Date?, relevanceScore: Double = 0.0) { fatalError() }
}

@available(iOS 16.2, *)
extension ActivityContent: Sendable where State: Sendable {}

@available(iOS 16.1, *)
public enum ActivityState: Sendable, Codable, Hashable {
  @available(iOS 26.0, *)
  case pending
  case active
  case ended
  case dismissed
  @available(iOS 16.2, *)
  case stale
}

@available(iOS 16.1, *)
public enum ActivityStyle: Hashable {
  case standard
  case transient
}

@available(iOS 16.1, *)
public struct PushType: Equatable {
  public static var token: PushType { fatalError() }

  @available(iOS 18.0, *)
  public static func channel(_ name: String) -> PushType { fatalError() }
}

@available(iOS 16.1, *)
public struct ActivityUIDismissalPolicy: Equatable, Sendable {
  public static let `default` = ActivityUIDismissalPolicy()
  public static let immediate = ActivityUIDismissalPolicy()

  public static func after(_ date: Date) -> ActivityUIDismissalPolicy { fatalError() }
}

@available(iOS 16.1, *)
public struct AlertConfiguration: Equatable, Sendable {
  public struct AlertSound: Equatable, Sendable {
    public static var `default`: AlertConfiguration.AlertSound { fatalError() }

    public static func named(_ name: String) -> AlertConfiguration.AlertSound { fatalError() }
  }

  public var title: LocalizedStringResource
  public var body: LocalizedStringResource
  public var sound: AlertConfiguration.AlertSound

  public init(
    title: LocalizedStringResource, body: LocalizedStringResource,
    sound: AlertConfiguration.AlertSound
  ) { fatalError() }
}

@available(iOS 16.1, *)
public final class ActivityAuthorizationInfo {
  public struct ActivityEnablementUpdates: AsyncSequence {
    public typealias Element = Bool

    public struct Iterator: AsyncIteratorProtocol {
      public mutating func next() async -> Bool? { fatalError() }
    }

    public func makeAsyncIterator() -> Iterator { fatalError() }
  }

  @available(iOS 16.2, *)
  public struct FrequentPushEnablementUpdates: AsyncSequence {
    public typealias Element = Bool

    public struct Iterator: AsyncIteratorProtocol {
      public mutating func next() async -> Bool? { fatalError() }
    }

    public func makeAsyncIterator() -> Iterator { fatalError() }
  }

  public final var areActivitiesEnabled: Bool { fatalError() }
  public final let activityEnablementUpdates: ActivityEnablementUpdates

  @available(iOS 16.2, *)
  public final var frequentPushesEnabled: Bool { fatalError() }

  @available(iOS 16.2, *)
  public final var frequentPushEnablementUpdates: FrequentPushEnablementUpdates { fatalError() }

  public init() { fatalError() }
}
