/// Those who wait, in order, where one may leave from the middle.
///
/// IDs only rise, so a search is binary; places that were left stay empty until they reach the
/// front. Each operation costs constant or logarithmic time, however many wait.
struct WaitQueue<Element> {
  private var places: [(id: Int, element: Element?)] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// - Parameter id: greater than any before.
  mutating func append(_ element: Element, id: Int) {
    precondition(places.last.map { $0.id < id } ?? true, "IDs of those who wait only rise")
    places.append((id, element))
    count += 1
  }

  mutating func popFirst() -> Element? {
    while head < places.count {
      let element = places[head].element
      places[head].element = nil
      head += 1
      if let element {
        count -= 1
        compact()
        return element
      }
    }
    return nil
  }

  mutating func remove(id: Int) -> Element? {
    var (low, high) = (head, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].id < id { low = middle + 1 } else { high = middle }
    }
    guard low < places.count, places[low].id == id, let element = places[low].element else {
      return nil
    }
    places[low].element = nil
    count -= 1
    if count == 0 {
      places.removeAll(keepingCapacity: true)
      head = 0
    }
    return element
  }

  /// Keeps the empty places in front fewer than the others, so that each is moved away once.
  private mutating func compact() {
    guard head >= 32, head * 2 >= places.count else { return }
    places.removeFirst(head)
    head = 0
  }
}
