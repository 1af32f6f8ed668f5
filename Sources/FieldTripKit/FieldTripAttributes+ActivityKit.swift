#if canImport(ActivityKit)
  public import ActivityKit

  extension FieldTripAttributes: ActivityAttributes {}
#endif
