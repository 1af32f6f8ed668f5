internal import Synchronization

/// How long the stages took through which every trigger and every request goes.
final class StageTimes: Sendable {
  enum Stage: Int, CaseIterable {
    /// From a trigger's arrival until it is in its partition's log.
    case append
    /// From handing a round of batches to Redis until their effects are stored.
    case commit
    /// From the oldest change that a priority-10 broadcast carries until it is sent.
    case wait
    /// From sending a broadcast until APNs' answer.
    case broadcast
    /// From a REST request, read whole, until its answer: by the class of its status.
    case restSucceeded
    case restRefused
    case restFailed

    /// - Parameter status: of an answer.
    static func rest(_ status: Int) -> Stage {
      switch status {
      case ..<400: .restSucceeded
      case ..<500: .restRefused
      default: .restFailed
      }
    }
  }

  private let histograms = Mutex(
    [TimeHistogram](repeating: TimeHistogram(), count: Stage.allCases.count))

  func record(_ span: Duration, in stage: Stage) {
    histograms.withLock { $0[stage.rawValue].record(span) }
  }

  subscript(_ stage: Stage) -> TimeHistogram { histograms.withLock { $0[stage.rawValue] } }
}
