/// What a card says, in whatever form it is shown: the Lock Screen, the Dynamic Island, a widget.
public struct CardFace: Codable, Hashable, Sendable {
  public var title: String
  public var subtitle: String?
  /// What changes, in a few words.
  public var headline: String
  public var detail: String?
  /// A few characters, for the smallest form.
  public var short: String
  /// The name of an SF Symbol.
  public var symbol: String
  /// From 0 to 1; nil where there is nothing to measure.
  public var progress: Double?
  /// Nothing was heard for too long: what is shown may be old.
  public var isStale: Bool

  public init(
    title: String, subtitle: String? = nil, headline: String, detail: String? = nil,
    short: String, symbol: String, progress: Double? = nil, isStale: Bool
  ) {
    self.title = title
    self.subtitle = subtitle
    self.headline = headline
    self.detail = detail
    self.short = short
    self.symbol = symbol
    self.progress = progress.map { $0.isFinite ? min(max($0, 0), 1) : 0 }
    self.isStale = isStale
  }

  /// The whole card as one sentence, for those who hear it.
  public var spoken: String {
    let parts = [title, subtitle, headline, detail, isStale ? Self.staleNote : nil]
    return parts.compactMap { $0 }.joined(separator: ". ")
  }

  /// What a card that heard nothing for too long says of itself.
  public static let staleNote = "May be out of date"
}

/// A kind of card that can say what it shows.
///
/// The kit's kinds speak English. For other words conform a struct of your own, or build the
/// ``CardFace`` for the views yourself.
public protocol FacedCardAttributes: CardAttributes {
  func face(showing state: ContentState, isStale: Bool) -> CardFace
}

extension FieldTripAttributes: FacedCardAttributes {
  public func face(showing state: ContentState, isStale: Bool) -> CardFace {
    let notes = state.notesCaptured
    return CardFace(
      title: name, subtitle: notebook,
      headline: notes == 1 ? "1 note captured" : "\(notes) notes captured",
      detail: state.lastPlaceName.map { "last at \($0)" },
      short: notes > 9_999 ? "\(notes / 1_000)k" : "\(notes)", symbol: "binoculars.fill",
      isStale: isStale)
  }
}

extension ConversationTurnAttributes: FacedCardAttributes {
  public func face(showing state: ContentState, isStale: Bool) -> CardFace {
    let (headline, short, symbol) =
      switch state.phase {
      case .sending: ("Sending your message", "…", "paperplane.fill")
      case .thinking: ("Thinking", "…", "ellipsis.bubble.fill")
      case .answered: ("The answer is here", "✓", "checkmark.bubble.fill")
      default: (state.phase.rawValue.capitalized, "…", "bubble.fill")
      }
    return CardFace(
      title: name, headline: headline, short: short, symbol: symbol, isStale: isStale)
  }
}

extension JobProgressAttributes: FacedCardAttributes {
  public func face(showing state: ContentState, isStale: Bool) -> CardFace {
    var face = CardFace(
      title: name, headline: state.stage.rawValue.capitalized,
      detail: state.sender.map { "reported by \($0)" }, short: "…",
      symbol: "gearshape.2.fill", progress: state.progress, isStale: isStale)
    switch state.stage {
    case .queued: (face.headline, face.symbol) = ("Queued", "hourglass")
    case .running:
      let percent = Int(((face.progress ?? 0) * 100).rounded(.down))
      (face.headline, face.short) = ("\(percent) % done", "\(percent)%")
    case .finished: (face.headline, face.short, face.symbol) = ("Finished", "✓", "checkmark")
    default: break
    }
    switch state.result {
    case .succeeded(let summary, _)?: face.detail = summary
    case .failed(let message, _)?:
      (face.headline, face.detail) = ("Failed", message)
      (face.short, face.symbol) = ("!", "exclamationmark.triangle.fill")
    case .cancelled(let person)?:
      (face.headline, face.detail) = ("Cancelled", person.map { "by \($0)" })
      (face.short, face.symbol) = ("×", "xmark")
    case .other(let name)?: face.headline = name.capitalized
    case nil: break
    }
    return face
  }
}
