#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  public import Foundation
  public import SwiftUI
  public import WidgetKit

  /// A trip as a widget of the Home Screen shows it at some time; nil when there is none.
  public struct TripEntry: TimelineEntry, Sendable {
    public let date: Date
    public let face: CardFace?

    public init(date: Date, face: CardFace?) {
      self.date = date
      self.face = face
    }
  }

  /// Asks for what a widget shows whenever the system lets it: at its own times, and after a push of
  /// the kind `widget`.
  public struct TripTimeline: TimelineProvider, Sendable {
    private let load: @Sendable () async -> CardFace?
    private let interval: TimeInterval

    /// - Parameters:
    ///   - interval: seconds after which the system may ask again without a push.
    ///   - load: what is to be shown now, such as from ``FieldcastClient/trip(_:showing:)``; nil
    ///     when there is no trip, or the service does not answer.
    public init(
      interval: TimeInterval = 1_800, load: @escaping @Sendable () async -> CardFace?
    ) {
      self.interval = interval
      self.load = load
    }

    public func placeholder(in context: Context) -> TripEntry {
      TripEntry(date: Date(), face: nil)
    }

    public func getSnapshot(
      in context: Context, completion: @escaping @Sendable (TripEntry) -> Void
    ) {
      Task { completion(TripEntry(date: Date(), face: await load())) }
    }

    public func getTimeline(
      in context: Context, completion: @escaping @Sendable (Timeline<TripEntry>) -> Void
    ) {
      Task {
        let now = Date()
        let entry = TripEntry(date: now, face: await load())
        completion(Timeline(entries: [entry], policy: .after(now + interval)))
      }
    }
  }

  /// A trip in a widget of the Home Screen.
  @available(iOS 17.0, *)
  public struct TripWidgetView: View {
    private let entry: TripEntry

    public init(entry: TripEntry) { self.entry = entry }

    public var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        if let face = entry.face {
          Label(face.title, systemImage: face.symbol).font(.headline).lineLimit(2)
          Text(face.headline).font(.title3).monospacedDigit()
          if let detail = face.detail {
            Text(detail).font(.footnote).foregroundStyle(.secondary).lineLimit(2)
          }
          if face.isStale { StaleBadge() }
        } else {
          Text("No trip").font(.headline).foregroundStyle(.secondary)
        }
      }
      .accessibilityElement(children: .ignore)
      .accessibilityLabel(entry.face?.spoken ?? "No trip")
      .containerBackground(.background, for: .widget)
    }
  }

  @available(iOS 26.0, *)
  extension WidgetPushInfo {
    /// Registers the token by which the service reloads the widgets, for a `WidgetPushHandler`, whose
    /// method cannot wait.
    public func register(
      for member: String, with client: FieldcastClient,
      onFailure: @escaping @Sendable (FieldcastError) -> Void = { _ in }
    ) {
      let registration = DeviceRegistration(
        deviceToken: PushToken(token), kind: .widget, member: member)
      Task {
        do throws(FieldcastError) {
          try await client.register(registration)
        } catch {
          onFailure(error)
        }
      }
    }
  }
#endif
