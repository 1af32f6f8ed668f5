import Clocks
import FieldTrips
import JSON

let noon = UnixTime(wholeSeconds: 1_777_723_200)

func sampleTrip() throws -> TripID { try TripID("0c9d3a52-6a0e-4d4b-9f3e-0a5b6c7d8e9f") }

func json(_ text: String) throws -> JSONText { try JSONText(validating: Array(text.utf8)) }

func string(_ state: ContentState) -> String { String(decoding: state.bytes, as: UTF8.self) }

func note(
  _ id: String, place: String? = nil, sequence: Int64? = nil, at occurredAt: UnixTime? = nil,
  significant: Bool = false, fields: JSONObject = [:]
) throws -> Trigger {
  Trigger(
    id: try TriggerID(id), trip: try sampleTrip(),
    effect: .note(Trigger.Note(place: place, fields: fields)), isSignificant: significant,
    sequence: sequence, occurredAt: occurredAt)
}

func phase(
  _ phase: String, _ fields: JSONObject = [:], sequence: Int64? = nil
) throws -> Trigger {
  Trigger(
    id: try TriggerID("p-\(phase)"), trip: try sampleTrip(),
    effect: .phase(Trigger.PhaseChange(phase: phase, fields: fields)), sequence: sequence)
}

func wholeState(_ text: String, sequence: Int64? = nil) throws -> Trigger {
  Trigger(
    id: try TriggerID("s"), trip: try sampleTrip(), effect: .state(try json(text)),
    sequence: sequence)
}

/// A card of one type, and what triggers do to it.
struct CardBench {
  let mapper: Mapper
  var card: Card

  init(_ type: ActivityType, attributes: String = "{}") throws {
    mapper = Mapper(type: type, attributes: try json(attributes))
    card = Card(state: type.initialState)
  }

  @discardableResult
  mutating func take(_ trigger: Trigger, at now: UnixTime = noon) -> MapperVerdict {
    mapper.apply(trigger, acceptedAt: now, to: &card)
  }

  var state: String { string(card.state) }
}

extension MapperVerdict {
  var change: Change? { if case .changed(let change) = self { change } else { nil } }
  var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}
