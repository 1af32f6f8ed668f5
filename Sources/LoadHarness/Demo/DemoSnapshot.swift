/// What the demo shows at one moment: plain numbers, gathered by whoever plays it.
package struct DemoSnapshot: Sendable {
  package var traceName: String
  /// In a few words, whether the day happened: ``CaptureTrace/Kind/words``.
  package var traceKind: String
  /// How many times faster than the trace itself it runs.
  package var speed = 1.0
  /// Of the trace, and of the trace's own time.
  package var elapsedSeconds = 0.0
  package var durationSeconds = 0.0
  package var phase = Phase.gathering

  package var captures = 0
  /// How many the whole trace has.
  package var capturesInTrace = 0
  package var doors = Doors()
  package var broadcasts = Broadcasts()
  /// Notes that the phones do not show yet, averaged over the trace's time.
  package var meanStalenessNotes = 0.0
  /// The longest that a capture has waited for a priority-10 broadcast, in trace time.
  package var maxWaitSeconds = 0.0
  package var phones = 0
  /// Phones that show the newest state.
  package var convergedPhones = 0
  /// Not shown while its capacity is 0.
  package var budget = Budget()
  package var card: LockScreenCard
  /// The newest last; the view shows as many as it has room for.
  package var events: [Event] = []

  package init(traceName: String, traceKind: String, card: LockScreenCard) {
    self.traceName = traceName
    self.traceKind = traceKind
    self.card = card
  }

  package enum Phase: String, Sendable {
    case gathering, live, ending, ended
  }

  /// Captures by the door through which they came in.
  package struct Doors: Sendable, Equatable {
    package var rest = 0
    package var publish = 0
    package var stream = 0

    package init(rest: Int = 0, publish: Int = 0, stream: Int = 0) {
      self.rest = rest
      self.publish = publish
      self.stream = stream
    }
  }

  /// Broadcasts that APNs accepted, by priority, and those that it throttled.
  package struct Broadcasts: Sendable, Equatable {
    package var priority10 = 0
    package var priority5 = 0
    package var throttled = 0
    package var all: Int { priority10 + priority5 }

    package init(priority10: Int = 0, priority5: Int = 0, throttled: Int = 0) {
      self.priority10 = priority10
      self.priority5 = priority5
      self.throttled = throttled
    }
  }

  /// The channel's token bucket; in debt when a significant change overdrew it.
  package struct Budget: Sendable, Equatable {
    package var tokens = 0.0
    package var capacity = 0.0

    package init(tokens: Double = 0, capacity: Double = 0) {
      self.tokens = tokens
      self.capacity = capacity
    }
  }

  /// Something worth a line.
  package struct Event: Sendable, Equatable {
    package enum Kind: Sendable {
      case trip, capture, broadcast, tail, throttled, phone
    }
    package var atSeconds: Double
    package var kind: Kind
    package var text: String

    package init(atSeconds: Double, kind: Kind, text: String) {
      self.atSeconds = atSeconds
      self.kind = kind
      self.text = text
    }
  }

  /// Captures that a broadcast carried on average.
  package var conflation: Double {
    broadcasts.all > 0 ? Double(captures) / Double(broadcasts.all) : 0
  }
}

/// What one phone's Lock Screen shows of the trip.
package struct LockScreenCard: Sendable, Equatable {
  package enum State: Sendable {
    /// No Live Activity yet.
    case waiting
    case live
    /// Its stale date is past: the system dims it.
    case stale
    case ended
    case dismissed
  }
  /// Whose phone it is, as a label: `phone 1`.
  package var phone: String
  /// The wall clock's hour and minute on it: `9:41`.
  package var clock: String
  package var title: String
  package var notebook: String
  package var state: State
  package var notesCaptured: Int
  package var lastPlace: String?
  /// Seconds since the shown state was made; nil when there is none.
  package var ageSeconds: Double?

  package init(
    phone: String, clock: String, title: String, notebook: String = "", state: State = .waiting,
    notesCaptured: Int = 0, lastPlace: String? = nil, ageSeconds: Double? = nil
  ) {
    self.phone = phone
    self.clock = clock
    self.title = title
    self.notebook = notebook
    self.state = state
    self.notesCaptured = notesCaptured
    self.lastPlace = lastPlace
    self.ageSeconds = ageSeconds
  }
}
