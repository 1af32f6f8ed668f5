/// A page of metrics in Prometheus' text format, version 0.0.4.
///
/// Names follow its conventions: base units, `_total` on counters, one unit a family. Labels take
/// few values by design: no trip, member, token or channel is ever one.
struct MetricsPage {
  typealias Labels = KeyValuePairs<String, String>

  private(set) var text = ""

  /// Opens a family; its samples follow.
  private mutating func open(_ name: String, _ type: String, _ help: String) {
    text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(type)\n"
  }

  private mutating func sample(_ name: String, _ labels: Labels, _ value: String) {
    text += name
    if !labels.isEmpty {
      let pairs = labels.map { "\($0.key)=\"\(Self.escaped($0.value, quotes: true))\"" }
      text += "{" + pairs.joined(separator: ",") + "}"
    }
    text += " " + value + "\n"
  }

  /// What only rises while the process lives; `name` without its `_total`.
  mutating func counter(_ name: String, _ help: String, _ value: Int) {
    counters(name, help, [([:], value)])
  }

  mutating func counters(_ name: String, _ help: String, _ values: [(Labels, Int)]) {
    open(name + "_total", "counter", help)
    for (labels, value) in values { sample(name + "_total", labels, "\(value)") }
  }

  mutating func seconds(_ name: String, _ help: String, _ value: Double) {
    open(name + "_seconds_total", "counter", help)
    sample(name + "_seconds_total", [:], "\(value)")
  }

  /// What rises and falls.
  mutating func gauge(_ name: String, _ help: String, _ value: Int) {
    gauges(name, help, [([:], value)])
  }

  mutating func gauges(_ name: String, _ help: String, _ values: [(Labels, Int)]) {
    open(name, "gauge", help)
    for (labels, value) in values { sample(name, labels, "\(value)") }
  }

  /// Spans of time; `name` without its `_seconds`.
  mutating func histograms(_ name: String, _ help: String, _ values: [(Labels, TimeHistogram)]) {
    let name = name + "_seconds"
    open(name, "histogram", help)
    for (labels, histogram) in values {
      var sum = 0
      for (bound, count) in zip(TimeHistogram.bounds, histogram.counts) {
        sum += count
        bucket(name, labels, "\(bound)", sum)
      }
      bucket(name, labels, "+Inf", histogram.count)
      sample(name + "_sum", labels, "\(histogram.seconds)")
      sample(name + "_count", labels, "\(histogram.count)")
    }
  }

  private mutating func bucket(_ name: String, _ labels: Labels, _ bound: String, _ count: Int) {
    let pairs = labels.map { "\($0.key)=\"\(Self.escaped($0.value, quotes: true))\"," }
    text += "\(name)_bucket{\(pairs.joined())le=\"\(bound)\"} \(count)\n"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }
}
