// An activity that is handed from one actor to another; see the other file of wrong calls. The
// compiler finds these in a later pass, and only where there are no errors before.

import ActivityKit
import FieldTripKit

actor Keeper {
  private var card: Activity<FieldTripAttributes>?

  func endCard() async {
    await card?.end(nil)  // wrong
  }
}

@MainActor
func endsElsewhere(_ card: Activity<FieldTripAttributes>) {
  Task.detached {  // wrong
    await card.end(nil)
  }
  print(card.id)
}
