/// Latencies beside each other on one logarithmic axis: a bar from p50 to p99, a notch at p95, a dot
/// at the maximum.
struct RangeChart: Sendable {
  struct Row: Sendable {
    var name: String
    var histogram: LatencyHistogram
    var colour: Plot.Colour
  }

  let rows: [Row]

  private static let width = 720.0
  private static let left = 170.0
  private static let rowHeight = 30.0

  func svg() -> String {
    let shown = rows.filter { $0.histogram.count > 0 }
    let least =
      shown.map { Double(max(1, min($0.histogram.quantile(0.5), $0.histogram.maxMicroseconds))) }
      .min() ?? 1
    let most = shown.map { Double(max(1, $0.histogram.maxMicroseconds)) }.max() ?? 10
    let scale = PlotScale.logarithmic(from: least, to: most)
    let height = Double(shown.count) * Self.rowHeight + 34
    func x(_ value: Int) -> Double {
      // What never came stands at the right end.
      Self.left + min(1, scale.place(of: Double(value))) * (Self.width - Self.left - 30)
    }
    var parts = [
      #"<svg class="ranges" viewBox="0 0 \#(n(Self.width)) \#(n(height))" role="img" "#
        + #"aria-label="Latencies: p50 to p99, and the maximum">"#
    ]
    for tick in scale.ticks {
      let place = n(x(Int(tick)))
      parts.append(
        #"<line class="grid" x1="\#(place)" x2="\#(place)" y1="4" y2="\#(n(height - 26))"/>"#)
      parts.append(
        #"<text class="tick" x="\#(place)" y="\#(n(height - 8))" text-anchor="middle">"#
          + LoadReport.roundTime(Int(tick)) + "</text>")
    }
    for (index, row) in shown.enumerated() {
      parts += drawn(row, middle: Double(index) * Self.rowHeight + 18, x)
    }
    return (parts + ["</svg>"]).joined(separator: "\n")
  }

  private func drawn(_ row: Row, middle: Double, _ x: (Int) -> Double) -> [String] {
    let (p50, p95) = (row.histogram.quantile(0.5), row.histogram.quantile(0.95))
    let (p99, most) = (row.histogram.quantile(0.99), row.histogram.quantile(1))
    let colour = row.colour.rawValue
    let length = max(2, x(p99) - x(p50))
    return [
      #"<text class="name" x="\#(n(Self.left - 12))" y="\#(n(middle + 4))" text-anchor="end">"#
        + HTMLText.escaped(row.name) + "</text>",
      #"<line class="whisker \#(colour)" x1="\#(n(x(p99)))" x2="\#(n(x(most)))" "#
        + #"y1="\#(n(middle))" y2="\#(n(middle))"/>"#,
      #"<rect class="bar \#(colour)" x="\#(n(x(p50)))" y="\#(n(middle - 7))" "#
        + #"width="\#(n(length))" height="14" rx="3"/>"#,
      #"<line class="notch" x1="\#(n(x(p95)))" x2="\#(n(x(p95)))" y1="\#(n(middle - 7))" "#
        + #"y2="\#(n(middle + 7))"/>"#,
      #"<circle class="\#(colour)" cx="\#(n(x(most)))" cy="\#(n(middle))" r="3.5"/>"#,
    ]
  }

  private func n(_ value: Double) -> String { Text.fixed(value, decimals: 1) }
}

extension LoadReport {
  /// A time that is a power of ten, without decimals: `10 ms`.
  static func roundTime(_ microseconds: Int) -> String {
    switch microseconds {
    case ..<1_000: "\(microseconds) µs"
    case ..<1_000_000: "\(microseconds / 1_000) ms"
    default: "\(microseconds / 1_000_000) s"
    }
  }
}
