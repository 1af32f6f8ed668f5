package import Clocks
package import JSON

/// A checked `POST /v1/trips`.
package struct CreateTripRequest: Sendable, Equatable {
  package let type: ActivityType
  /// Nil takes the service's only or default app.
  package let bundleID: String?
  package let environment: AppID.Environment?
  package let name: String
  package let notebook: String?
  package let attributes: JSONText
  package let state: ContentState
  package let times: TripTimes
  /// Members without a card get an alert push when the trip has begun.
  package let alertsWithoutActivity: Bool
  /// Sentences about what was taken and may surprise.
  package let warnings: [String]

  /// Reads `{"name", "notebook"?, "type"?, "bundleID"?, "environment"?, "startsAt"?, "endsAt"?,
  /// "staleAfter"?, "dismissal"?, "alertsWithoutActivity"?, "attributes"?, "contentState"?}`.
  ///
  /// - Parameters:
  ///   - types: by name; the first is meant when the request names none.
  ///   - trip: the ID that the trip will have, since its attributes may carry it.
  /// - Throws: every problem of every field.
  package static func read(
    _ value: JSONValue, types: [ActivityType], trip: TripID, now: UnixTime
  ) throws(Refusal) -> CreateTripRequest {
    var reader = ObjectReader(value)
    let type = readType(&reader, types)
    let bundleID = reader.string("bundleID", bytes: 1...155)
    let environment = reader.environment()
    let name = reader.string("name", isRequired: true)
    let notebook = reader.string("notebook")
    let given = reader.object("attributes") ?? [:]
    let times = reader.tripTimes(type, now: now)
    let alertsWithoutActivity = reader.bool("alertsWithoutActivity") ?? false
    let stateText = reader.contentState()
    var problems = reader.finish()
    guard let type, let name, let times else {
      throw Refusal(problems) ?? Refusal(Problem(.badValue, "The request is incomplete."))
    }
    let attributes = type.assemble(
      given, name: name, notebook: notebook, trip: trip, startsAt: times.startsAt,
      problems: &problems)
    let state = type.firstState(stateText, attributes: attributes, problems: &problems)
    if let refusal = Refusal(problems) { throw refusal }
    return CreateTripRequest(
      type: type, bundleID: bundleID, environment: environment, name: name, notebook: notebook,
      attributes: attributes, state: state, times: times,
      alertsWithoutActivity: alertsWithoutActivity,
      warnings: warnings(times, type.timings))
  }

  private static func readType(
    _ reader: inout ObjectReader, _ types: [ActivityType]
  ) -> ActivityType? {
    precondition(!types.isEmpty, "a service has at least one activity type")
    guard let name = reader.string("type", bytes: 1...64) else {
      return reader.has("type") ? nil : types[0]
    }
    if let type = types.first(where: { $0.name == name }) { return type }
    reader.add(
      .unknownActivityType, "type",
      "There is no activity type \(quoted(name))."
        + suggestion(for: name, among: types.map(\.name)))
    return nil
  }

  private static func warnings(_ times: TripTimes, _ timings: ActivityTimings) -> [String] {
    let length = (times.endsAt - times.startsAt).inWholeSeconds
    let life = timings.activeLife.inWholeSeconds
    guard length > life else { return [] }
    return [
      "The trip lasts \(length) s, and the system ends each phone's card \(life) s after its start: "
        + "cards have to be started again before the trip is over."
    ]
  }
}

extension ObjectReader {
  mutating func environment() -> AppID.Environment? {
    choice("environment", among: AppID.Environment.allCases.map(\.rawValue))
      .flatMap(AppID.Environment.init(rawValue:))
  }

  /// `startsAt`, `endsAt`, `staleAfter` and `dismissal`, held against each other and the present.
  ///
  /// A start up to five minutes ago counts as now: callers' clocks differ.
  fileprivate mutating func tripTimes(_ type: ActivityType?, now: UnixTime) -> TripTimes? {
    let timings = type?.timings ?? ActivityTimings()
    let staleAfter = seconds("staleAfter", in: 60...28_800) ?? timings.staleAfter
    let dismissal = dismissal("dismissal") ?? timings.dismissal
    let before = problems.count
    let start = date("startsAt").map { checkStart($0, timings, now: now) } ?? now
    let end = date("endsAt")
    guard problems.count == before else { return nil }
    if let end { check(end: end, start: start, timings, now: now) }
    guard problems.count == before else { return nil }
    return TripTimes(
      createdAt: now, startsAt: start, endsAt: end ?? start + timings.activeLife,
      staleAfter: staleAfter, dismissal: dismissal)
  }

  private mutating func checkStart(
    _ start: UnixTime, _ timings: ActivityTimings, now: UnixTime
  ) -> UnixTime {
    let ahead = start - now
    if ahead < .seconds(-300) {
      add(
        .badTime, "startsAt",
        "\(DateText.format(start)) was \((.zero - ahead).inWholeSeconds) s ago: leave it out to "
          + "start at once.")
    } else if ahead > timings.longestWait, ahead > .seconds(300) {
      add(
        .badTime, "startsAt",
        "\(DateText.format(start)) is \(ahead.inWholeSeconds) s ahead, over the limit of "
          + "\(timings.longestWait.inWholeSeconds).")
    }
    return max(start, now)
  }

  private mutating func check(
    end: UnixTime, start: UnixTime, _ timings: ActivityTimings, now: UnixTime
  ) {
    let length = end - start
    if end <= now {
      add(.badTime, "endsAt", "\(DateText.format(end)) is already over.")
    } else if length <= .zero {
      add(
        .badTime, "endsAt",
        "The end \(DateText.format(end)) is not after the start \(DateText.format(start)).")
    } else if length > timings.longestTrip {
      add(
        .badTime, "endsAt",
        "The trip would last \(length.inWholeSeconds) s, over the limit of "
          + "\(timings.longestTrip.inWholeSeconds).")
    }
  }
}

extension ActivityType {
  /// The caller's attributes with those that the request has members for: `name`, `notebook`,
  /// `tripID` and `startedAt`, as far as the phone's struct has them.
  fileprivate func assemble(
    _ given: JSONObject, name: String, notebook: String?, trip: TripID,
    startsAt: UnixTime, problems: inout [Problem]
  ) -> JSONText {
    var object = given
    let own: [(String, JSONValue?)] = [
      ("name", .string(name)), ("notebook", notebook.map { .string($0) }),
      ("tripID", .string(trip.text)),
      (Self.startedAt, saysWhenStarted ? .number(JSONNumber(startsAt.wholeSeconds)) : nil),
    ]
    for (key, value) in own {
      guard let value, definition.attributes.named(key) != nil else { continue }
      if given[key] != nil {
        problems.append(
          Problem(
            .badValue, at: pointer("/attributes", key),
            "\"\(key)\" is filled in from the trip: leave it out."))
      }
      object[key] = value
    }
    do throws(Refusal) {
      return try attributes(validating: object)
    } catch {
      problems += error.problems.map(\.withOwnPath)
      return JSONText(.object(object))
    }
  }

  fileprivate func firstState(
    _ text: JSONText?, attributes: JSONText, problems: inout [Problem]
  ) -> ContentState {
    do throws(Refusal) {
      return try contentState(
        validating: text ?? initialState.text, attributes: attributes)
    } catch {
      problems += error.problems
      return initialState
    }
  }
}

extension Problem {
  /// What is missing from the attributes is missing from the request where that has a member of
  /// its own.
  fileprivate var withOwnPath: Problem {
    guard code == .missingField, path == "/attributes/notebook" else { return self }
    return Problem(code, at: "/notebook", "\"notebook\" is required by this activity type.")
  }
}
