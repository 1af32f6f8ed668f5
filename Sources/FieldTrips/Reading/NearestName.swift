/// The name that was probably meant: the nearest one, if it is near enough to be a slip.
///
/// Near means at most a third of the letters inserted, deleted or exchanged, capitals aside.
func nearestName(to name: String, among candidates: [String]) -> String? {
  let wanted = Array(name.lowercased().utf8.prefix(64))
  var best: (name: String, distance: Int)?
  for candidate in candidates {
    let letters = Array(candidate.lowercased().utf8)
    let distance = editDistance(wanted, letters)
    guard distance <= max(wanted.count, letters.count) / 3 else { continue }
    if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
  }
  return best?.name
}

/// Levenshtein's distance, row by row.
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
  var row = Array(0...right.count)
  for (leftIndex, leftByte) in left.enumerated() {
    var diagonal = row[0]
    row[0] = leftIndex + 1
    for (rightIndex, rightByte) in right.enumerated() {
      let exchanged = diagonal + (leftByte == rightByte ? 0 : 1)
      diagonal = row[rightIndex + 1]
      row[rightIndex + 1] = min(exchanged, diagonal + 1, row[rightIndex] + 1)
    }
  }
  return row[right.count]
}

/// ` Did you mean "capturedAt"?`, or nothing.
func suggestion(for name: String, among candidates: [String]) -> String {
  nearestName(to: name, among: candidates).map { " Did you mean \"\($0)\"?" } ?? ""
}
