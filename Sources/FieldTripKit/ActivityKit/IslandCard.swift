#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  internal import SwiftUI
  public import WidgetKit

  @available(iOS 16.2, *)
  extension DynamicIsland {
    /// A card in the Dynamic Island, in its three forms.
    @MainActor
    public init(showing face: CardFace) {
      self.init {
        DynamicIslandExpandedRegion(.leading) {
          Image(systemName: face.symbol).font(.title2).accessibilityHidden(true)
        }
        DynamicIslandExpandedRegion(.trailing) {
          Text(face.short).font(.title3).monospacedDigit().accessibilityHidden(true)
        }
        DynamicIslandExpandedRegion(.center) {
          Text(face.title).font(.headline).lineLimit(1).accessibilityHidden(true)
        }
        DynamicIslandExpandedRegion(.bottom) {
          IslandWords(face: face)
        }
      } compactLeading: {
        Image(systemName: face.symbol).accessibilityLabel(face.title)
      } compactTrailing: {
        IslandFigure(face: face)
      } minimal: {
        IslandFigure(face: face)
      }
    }
  }

  /// The wide form's words, which also speak for what stands above them.
  @available(iOS 16.2, *)
  private struct IslandWords: View {
    let face: CardFace

    var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        Text(face.headline).font(.body).monospacedDigit()
        if let progress = face.progress { ProgressView(value: progress) }
        if let detail = face.detail {
          Text(detail).font(.footnote).foregroundStyle(.secondary).lineLimit(1)
        }
        if face.isStale { StaleBadge() }
      }
      .accessibilityElement(children: .ignore)
      .accessibilityLabel(face.spoken)
    }
  }

  /// The one figure of the small forms; a stale one is dimmed, and says so when it is heard.
  @available(iOS 16.2, *)
  private struct IslandFigure: View {
    let face: CardFace

    var body: some View {
      Text(face.short).monospacedDigit()
        .foregroundStyle(face.isStale ? .secondary : .primary)
        .accessibilityLabel(face.spoken)
    }
  }
#endif
