#if canImport(ActivityKit) && !targetEnvironment(macCatalyst) && (os(iOS) || os(Linux))
  public import ActivityKit

  @available(iOS 16.1, *)
  extension FieldTripAttributes: ActivityAttributes {}

  @available(iOS 16.1, *)
  extension ConversationTurnAttributes: ActivityAttributes {}

  @available(iOS 16.1, *)
  extension JobProgressAttributes: ActivityAttributes {}
#endif
