extension ActivityType {
  /// A group on a walk: how many notes were captured, and where the last one.
  package static let fieldTrip = built(
    ActivityTypeDefinition(
      name: "field-trip",
      attributesType: "FieldTripAttributes",
      attributes: [
        FieldSchema("name", .string(maxBytes: 256), isRequired: true),
        FieldSchema("notebook", .string(maxBytes: 256), isRequired: true),
        FieldSchema("tripID", .string(maxBytes: 36), isRequired: true),
        FieldSchema("startedAt", .integer),
      ],
      contentState: [
        FieldSchema("notesCaptured", .integer, isRequired: true, initial: 0),
        FieldSchema("lastPlaceName", .string(maxBytes: 128), mayBeTrimmed: true),
      ],
      mapper: [
        MapperRule("notesCaptured", .count),
        MapperRule("lastPlaceName", .latest(.place)),
      ],
      significance: SignificanceRules(milestones: [
        Milestone("notesCaptured", at: [10, 25, 50], every: 100)
      ]),
      alerts: AlertRules(start: alert("{name}", "Your field trip has started."))))

  /// One turn of a conversation with an assistant, from sending to the answer.
  package static let conversationTurn = built(
    ActivityTypeDefinition(
      name: "conversation-turn",
      attributesType: "ConversationTurnAttributes",
      attributes: [
        FieldSchema("tripID", .string(maxBytes: 36), isRequired: true),
        FieldSchema("name", .string(maxBytes: 256), isRequired: true),
        FieldSchema("startedAt", .integer),
      ],
      contentState: [
        FieldSchema(
          "phase", .choice(["sending", "thinking", "answered"]), isRequired: true,
          initial: "sending")
      ],
      mapper: [MapperRule("phase", .phase)],
      finalPhases: ["answered"],
      phasesAdvance: true,
      significance: SignificanceRules(firstNote: false, phases: ["thinking", "answered"]),
      timings: ActivityTimings(
        staleAfter: .seconds(120), dismissal: .after(.seconds(300)),
        activeLife: .seconds(3_600), longestTrip: .seconds(3_600), longestWait: .zero,
        endsAfterFinalPhase: .seconds(60)),
      storage: .noStorage,
      alerts: AlertRules(
        start: alert("{name}", "Sending your message."),
        updates: [.phase("answered"): alert("{name}", "The answer is here.")])))

  /// A job that runs elsewhere. Its outcome goes out as an update, so that it can still be corrected,
  /// and the end follows by itself.
  package static let jobProgress = built(
    ActivityTypeDefinition(
      name: "job-progress",
      attributesType: "JobProgressAttributes",
      attributes: [
        FieldSchema("tripID", .string(maxBytes: 36), isRequired: true),
        FieldSchema("name", .string(maxBytes: 256), isRequired: true),
        FieldSchema("startedAt", .integer),
      ],
      contentState: [
        FieldSchema(
          "stage", .choice(["queued", "running", "finished"]), isRequired: true, initial: "queued"),
        FieldSchema("progress", .number, isRequired: true, initial: 0),
        FieldSchema("sender", .string(maxBytes: 128), mayBeTrimmed: true),
        FieldSchema("result", jobResult),
      ],
      mapper: [
        MapperRule("stage", .phase),
        MapperRule("progress", .latest(.field("progress"))),
        MapperRule("sender", .latest(.field("sender"))),
        MapperRule("result", .latest(.field("result"))),
      ],
      finalPhases: ["finished"],
      phasesAdvance: true,
      significance: SignificanceRules(firstNote: false, phases: ["running", "finished"]),
      timings: ActivityTimings(
        staleAfter: .seconds(600), dismissal: .after(.seconds(1_800)),
        endsAfterFinalPhase: .seconds(300)),
      alerts: AlertRules(
        start: alert("{name}", "The job is queued."),
        updates: [.phase("finished"): alert("{name}", "The job has finished.")])))

  /// The three, for a service without configuration of its own.
  package static let builtIn = [fieldTrip, conversationTurn, jobProgress]

  /// As Swift encodes an enum whose cases carry values.
  private static let jobResult = FieldKind.oneOf([
    FieldSchema(
      "succeeded",
      .object([
        FieldSchema("summary", .string(maxBytes: 256), isRequired: true),
        FieldSchema("link", .string(maxBytes: 512)),
      ])),
    FieldSchema(
      "failed",
      .object([
        FieldSchema("message", .string(maxBytes: 256), isRequired: true),
        FieldSchema("code", .integer),
      ])),
    FieldSchema("cancelled", .object([FieldSchema("by", .string(maxBytes: 128))])),
  ])

  private static func built(_ definition: ActivityTypeDefinition) -> ActivityType {
    do throws(Refusal) {
      return try ActivityType(definition)
    } catch {
      preconditionFailure("the built-in type \(definition.name) is wrong: \(error)")
    }
  }

  private static func alert(_ title: String, _ body: String) -> AlertText {
    do throws(IdentifierError) {
      return try AlertText(title: title, body: body, sound: nil)
    } catch {
      preconditionFailure("a built-in alert is wrong: \(error)")
    }
  }
}
