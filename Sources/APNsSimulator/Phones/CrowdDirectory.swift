/// Finds the channel of a phone that belongs to a crowd, by its number.
struct CrowdDirectory: Sendable {
  struct Entry: Sendable {
    var firstPhone: Int
    var count: Int
    var bundleID: String
    var channelID: String
  }

  /// Numbers are given out in rising order, so the entries are sorted.
  private(set) var entries: [Entry] = []

  mutating func add(_ entry: Entry) { entries.append(entry) }

  func entry(of phone: Int) -> Entry? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].firstPhone <= phone { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let entry = entries[low - 1]
    return phone < entry.firstPhone + entry.count ? entry : nil
  }
}
