extension TraceGenerator {
  /// What kind of day it is.
  package struct Shape: Sendable {
    package let name: String
    /// One line for a person who chooses.
    package let summary: String
    let durationSeconds: Int
    let observers: Int
    let places: Int
    /// The group walks from place to place together; else each wanders from where they began.
    let travelsTogether: Bool
    /// When people come and go, in thousandths of the day.
    let arrivalPermille: Quantiles
    let departurePermille: Quantiles
    /// Captures in one bout, a stack counted once.
    let boutLength: Quantiles
    /// Seconds between captures of a bout.
    let gapSeconds: Quantiles
    /// Seconds between bouts of a person of ordinary keenness in an ordinary hour.
    let pauseSeconds: Quantiles
    /// How a person's pauses compare with the ordinary, in percent. Its long tail makes the few who
    /// do most of the captures and the many who make two.
    let slownessPercent: Quantiles
    /// Share of captures with more at the same instant, and how many more.
    let stackPercent: Int
    let stackHeight: Quantiles
    /// Share of people whose notes keep whole minutes only.
    let minutesOnlyPercent: Int
    /// Share of bouts after which one walks on to the next place.
    let movesOnPercent: Int
    /// The day's plan: up to which thousandth of the day the group is how active.
    let plan: [Phase]

    struct Phase: Sendable {
      var untilPermille: Int
      /// 100 is an ordinary hour; 0 is lunch: nobody starts a bout.
      var activityPercent: Int
    }
  }
}

extension TraceGenerator.Shape {
  /// Two hours on one shore: eight people, dense and steady, one rest.
  package static let outing = TraceGenerator.Shape(
    name: "outing",
    summary: "8 people walk one shore for 2 hours",
    durationSeconds: 7_200, observers: 8, places: 8, travelsTogether: true,
    arrivalPermille: Quantiles(0, 0, 20, 60, 120),
    departurePermille: Quantiles(820, 950, 1000, 1000),
    boutLength: Quantiles(1, 1, 2, 3, 4, 6),
    gapSeconds: Quantiles(6, 14, 22, 32, 50, 90),
    pauseSeconds: Quantiles(45, 90, 180, 300, 600, 900),
    slownessPercent: Quantiles(45, 70, 100, 140, 220),
    stackPercent: 2, stackHeight: Quantiles(1, 1, 3),
    minutesOnlyPercent: 0, movesOnPercent: 50,
    plan: [
      Phase(untilPermille: 80, activityPercent: 50),
      Phase(untilPermille: 480, activityPercent: 130),
      Phase(untilPermille: 560, activityPercent: 0),
      Phase(untilPermille: 1000, activityPercent: 90),
    ])

  /// Half a day in a district: forty people on their own, three waves, and lulls between.
  package static let bioblitz = TraceGenerator.Shape(
    name: "bioblitz",
    summary: "40 people search a district for 12 hours, in three waves",
    durationSeconds: 43_200, observers: 40, places: 28, travelsTogether: false,
    arrivalPermille: Quantiles(0, 100, 160, 300, 480, 800),
    departurePermille: Quantiles(200, 450, 620, 850, 1000),
    boutLength: Quantiles(1, 1, 2, 3, 5, 12),
    gapSeconds: Quantiles(8, 20, 35, 60, 100, 240),
    pauseSeconds: Quantiles(120, 400, 900, 1_800, 3_600, 7_200),
    slownessPercent: Quantiles(20, 60, 120, 250, 600),
    stackPercent: 7, stackHeight: Quantiles(1, 1, 1, 2, 6),
    minutesOnlyPercent: 25, movesOnPercent: 30,
    plan: [
      Phase(untilPermille: 120, activityPercent: 60),
      Phase(untilPermille: 280, activityPercent: 200),
      Phase(untilPermille: 400, activityPercent: 30),
      Phase(untilPermille: 520, activityPercent: 160),
      Phase(untilPermille: 700, activityPercent: 50),
      Phase(untilPermille: 850, activityPercent: 160),
      Phase(untilPermille: 1000, activityPercent: 40),
    ])

  package static let all = [outing, bioblitz]

  func activityPercent(at second: Int) -> Int {
    max(phase(at: second)?.activityPercent ?? 100, 1)
  }

  /// The given second, or the end of the rest in which it falls.
  func nextActiveSecond(from second: Int) -> Int {
    guard let phase = phase(at: second), phase.activityPercent == 0 else { return second }
    // People do not start again in the same instant: the later one came into the rest, the later
    // one leaves it, in a sixth of the time.
    let ends = durationSeconds * phase.untilPermille / 1000
    return ends + (second - starts(of: phase)) / 6
  }

  private func phase(at second: Int) -> Phase? {
    plan.first { second * 1000 < durationSeconds * $0.untilPermille }
  }

  private func starts(of phase: Phase) -> Int {
    let before = plan.last { $0.untilPermille < phase.untilPermille }
    return durationSeconds * (before?.untilPermille ?? 0) / 1000
  }
}
