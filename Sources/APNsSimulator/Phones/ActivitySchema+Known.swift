extension ActivitySchema {
  /// One turn of a conversation with an assistant.
  package static let conversationTurn = ActivitySchema(
    attributesType: "ConversationTurnAttributes",
    attributes: [Field("tripID", .string), Field("name", .string)],
    contentState: [Field("phase", .choice(["sending", "thinking", "answered"]))])

  /// A job that runs elsewhere.
  package static let jobProgress = ActivitySchema(
    attributesType: "JobProgressAttributes",
    attributes: [Field("tripID", .string), Field("name", .string)],
    contentState: [
      Field("stage", .choice(["queued", "running", "finished"])), Field("progress", .number),
      Field("sender", .string, optional: true), Field("result", jobResult, optional: true),
    ])

  private static let jobResult = Kind.variant([
    Field(
      "succeeded", .record([Field("summary", .string), Field("link", .string, optional: true)])),
    Field(
      "failed", .record([Field("message", .string), Field("code", .integer, optional: true)])),
    Field("cancelled", .record([Field("by", .string, optional: true)])),
  ])

  /// What an app made with expo-widgets decodes, whatever its cards show: a name, and the properties
  /// as a text that holds JSON. All its activities have one attributes type.
  package static let expoWidgets = ActivitySchema(
    attributesType: "LiveActivityAttributes",
    attributes: [Field("url", .string, optional: true)],
    contentState: [Field("name", .string), Field("props", .string)])
}
