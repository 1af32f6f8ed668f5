#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  internal import AppIntents
  public import SwiftUI
  internal import WidgetKit

  /// A card on the Lock Screen, and as a banner on phones without a Dynamic Island.
  ///
  /// It grows with the person's text size, leaves out what does not fit at the largest sizes, and is
  /// heard as one sentence.
  @available(iOS 16.2, *)
  public struct LockScreenCard: View {
    private let face: CardFace
    private let trip: String?
    @Environment(\.dynamicTypeSize) private var textSize
    @Environment(\.isLuminanceReduced) private var isDimmed

    /// - Parameter trip: gets a button to leave it, from iOS 17; nil has none.
    public init(face: CardFace, trip: String? = nil) {
      self.face = face
      self.trip = trip
    }

    public var body: some View {
      VStack(alignment: .leading, spacing: 6) {
        words.accessibilityElement(children: .ignore).accessibilityLabel(face.spoken)
        if let trip, !face.isStale, !textSize.isAccessibilitySize { LeaveButton(trip: trip) }
      }
      .padding()
      .opacity(isDimmed ? 0.8 : 1)
    }

    private var words: some View {
      VStack(alignment: .leading, spacing: 4) {
        HStack(spacing: 6) {
          Image(systemName: face.symbol)
          Text(face.title).font(.headline).lineLimit(1)
          Spacer(minLength: 4)
          if face.isStale { StaleBadge() }
        }
        if let subtitle = face.subtitle, !textSize.isAccessibilitySize {
          Text(subtitle).font(.subheadline).foregroundStyle(.secondary).lineLimit(1)
        }
        Text(face.headline).font(.title3).monospacedDigit().contentTransition(.numericText())
          .foregroundStyle(face.isStale ? .secondary : .primary)
        if let progress = face.progress { ProgressView(value: progress) }
        if let detail = face.detail {
          Text(detail).font(.subheadline).foregroundStyle(.secondary).lineLimit(2)
        }
      }
    }
  }

  /// Says that what stands beside it may be old: in words and by a sign, not by colour alone.
  @available(iOS 16.2, *)
  struct StaleBadge: View {
    var body: some View {
      Label(CardFace.staleNote, systemImage: "wifi.slash").font(.caption)
        .foregroundStyle(.secondary).lineLimit(1)
    }
  }

  @available(iOS 16.2, *)
  private struct LeaveButton: View {
    let trip: String

    var body: some View {
      if #available(iOS 17.0, *) {
        Button(intent: LeaveTripIntent(trip: trip)) { Text("Leave") }.font(.caption)
      }
    }
  }
#endif
