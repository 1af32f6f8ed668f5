import APNsSimulator
import FieldTrips
import FieldcastServer
import Foundation
import HTTP
import JSON
import Testing
import Transport

@Suite struct `The dashboard` {
  @Test func `comes whole from the service, and lets nothing else in`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        let page = try await caller.call("GET", "/")
        #expect(page.status == 200)
        #expect(page.fields["content-type"] == "text/html; charset=utf-8")
        let policy = try #require(page.fields["content-security-policy"])
        #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
        // Everything that it names is here, and nothing is elsewhere.
        let named = page.text.matches(of: /(?:src|href)="(\/[^"]*)"/).map { String($0.output.1) }
        #expect(named.count >= 4)
        #expect(!page.text.contains("://"))
        var sought = Set(named)
        var seen: Set<String> = []
        while let path = sought.popFirst() {
          let file = try await caller.call("GET", path)
          #expect(file.status == 200, "\(path)")
          #expect(file.fields["x-content-type-options"] == "nosniff", "\(path)")
          seen.insert(path)
          guard path.hasSuffix(".js") else { continue }
          for match in file.text.matches(of: /from "\.\/([a-z]+\.js)"/) {
            let imported = "/dashboard/\(match.output.1)"
            if !seen.contains(imported) { sought.insert(imported) }
          }
          // Text is set as text, and nothing is run that is not in the file.
          for word in ["innerHTML", "outerHTML", "insertAdjacent", "eval(", "document.write"] {
            #expect(!file.text.contains(word), "\(path) has \(word)")
          }
        }
        #expect(seen.contains("/dashboard/words.js"))
        let tag = try #require(page.fields["etag"])
        let again = try await caller.call("GET", "/", fields: ["if-none-match": tag])
        #expect(again.status == 304 && again.text.isEmpty)
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `shows trips as they change, and what callers name them as text`() async throws {
    try await World.with(speed: 20) { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        let script = #"<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"#
        let bad = try await caller.createTrip(#"{"name":"\#(script)","notebook":"<b>Birds</b>"}"#)
        try await Browser.open("http://127.0.0.1:\(port)/", in: world) { browser in
          try await browser.waitForText("<script>window.hacked=1</script>", in: ".trips")
          try await browser.waitForText("1\n", in: ".tiles")
          let trip = try await caller.createTrip()
          try await browser.waitForText("Spring walk", in: ".trips")
          try await browser.wait(until: "document.querySelector('.link')?.innerText == 'Live'")
          let join = #"{"member":"anna","osVersion":"18.2"}"#
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/members", join)
          try await browser.waitForText("1 channel", in: ".trips")
          // By keyboard: down to the first trip, which moved last, and into it.
          try await browser.press("ArrowDown", code: 40)
          try await browser.wait(until: "document.activeElement.innerText == 'Spring walk'")
          try await browser.press("Enter", code: 13)
          try await browser.waitForText("What phones show now")
          try await browser.waitForText("0 notes captured", in: ".activity")
          let note = #"{"id":"n1","significant":true,"place":"East pools"}"#
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/notes", note)
          try await browser.waitForText("1 note captured", in: ".activity")
          try await browser.waitForText("Last at East pools", in: ".activity")
          try await browser.waitForText("accepted", in: ".sends")
          try await browser.wait(
            until: "document.querySelectorAll('.timeline .p10 circle').length > 0")
          _ = try await caller.call("POST", "/v1/trips/\(trip.id)/end")
          try await browser.waitForText("Ended", in: ".activity")
          _ = try await browser.value(of: "void (location.hash = '#/trips/\(bad.id)')")
          try await browser.waitForText("<b>Birds</b>", in: ".activity")
          #expect(try await browser.value(of: "window.hacked === undefined").bool == true)
          let pictures = "document.querySelectorAll('main img').length"
          #expect(try await browser.value(of: pictures).int64 == 0)
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `asks for a token, and keeps it in its tab alone`() async throws {
    let (all, app) = (AccessToken(), AccessToken())
    let list = try AccessList(
      parsing: """
        \(all.entry(name: "all", scopes: [.trips, .admin]))
        \(app.entry(name: "app", scopes: [.trips]))
        """)
    try await World.with { world in
      try await world.withService({ $0.access = list }) { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        try await Browser.open("http://127.0.0.1:\(port)/#/channels", in: world) { browser in
          try await browser.waitForText("This service asks for a token")
          try await browser.picture("token")
          func enter(_ token: String) async throws {
            try await browser.wait(until: "document.activeElement?.id == 'token'")
            try await browser.type(token)
            try await browser.press("Enter", code: 13)
          }
          try await enter("fct_wrong")
          try await browser.waitForText("not on this service")
          try await enter(all.text)
          try await browser.waitForText("0 of 10,000 channels")
          let kept = "JSON.stringify([sessionStorage.length, localStorage.length, location.href])"
          let text = try await browser.value(of: kept).string ?? ""
          #expect(text.hasPrefix("[1,0,") && !text.contains("fct_"))
          _ = try await browser.value(of: "document.querySelector('[data-action=forget]').click()")
          try await browser.waitForText("This service asks for a token")
          #expect(try await browser.value(of: "sessionStorage.length").int64 == 0)
          // A token of less scope is told what it may not see.
          try await enter(app.text)
          try await browser.waitForText("lacks the scope admin")
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `reads events in whatever pieces they come, and draws buckets as they fill`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        try await Browser.open("http://127.0.0.1:\(port)/", in: world) { browser in
          try await browser.wait(until: "document.querySelector('.link')?.innerText == 'Live'")
          // Cut at every place, line ends among them.
          let events = """
            import('/dashboard/stream.js').then(({ EventReader }) => {
              const text = 'retry: 2500\\nevent: a\\r\\ndata: 1\\r\\n\\r\\n:\\n\\ndata:x\\ndata: y\\n\\nevent: b\\n\\n';
              const seen = new Set();
              for (let cut = 0; cut <= text.length; cut++) {
                const all = [];
                const reader = new EventReader(
                  (name, data) => all.push(name + '=' + data), (retry) => all.push(retry));
                reader.push(text.slice(0, cut));
                reader.push(text.slice(cut));
                seen.add(JSON.stringify(all));
              }
              return [...seen].join();
            })
            """
          #expect(
            try await browser.value(of: events).string == #"[2500,"a=1","message=x\ny"]"#)
          // It falls by a token at a broadcast, fills to its brim, and is emptied by a 429.
          let levels = """
            import('/dashboard/chart.js').then(({ levels }) => {
              const send = (sent, level, capacity) =>
                ({ sent, level, capacity, refillMilliseconds: 1000, priority: 10 });
              const sends = [send(0, 9, 10), send(5000, 0, 7)];
              const trip = { budget: { capacity: 7 }, sends };
              return JSON.stringify(levels(trip, 0, 9000));
            })
            """
          #expect(
            try await browser.value(of: levels).string
              == "[[0,10],[0,10],[0,9],[1000,10],[5000,10],[5000,0],[9000,4]]")
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `forgets what a token showed when the service takes it no more`() async throws {
    let (all, app) = (AccessToken(), AccessToken())
    let narrow = app.entry(name: "app", scopes: [.trips])
    let wide = all.entry(name: "all", scopes: [.trips, .admin])
    try await World.with { world in
      let port = try await StreamListener.freePort(on: world.loop)
      let page = "http://127.0.0.1:\(port)/"
      let first = try AccessList(parsing: "\(wide)\n\(narrow)")
      // The same token, of less scope; then none that the page knows.
      let narrowed = try AccessList(parsing: all.entry(name: "all", scopes: [.trips]))
      let second = try AccessList(parsing: narrow)
      try await Browser.open("about:blank", in: world) { browser in
        try await world.withService({
          $0.access = first
          $0.listen = .tcp(host: "127.0.0.1", port: port)
        }) { _ in
          try await browser.command("Page.navigate", ["url": .string(page)])
          try await browser.wait(until: "document.activeElement?.id == 'token'")
          try await browser.type(all.text)
          try await browser.press("Enter", code: 13)
          try await browser.waitForText("Broadcasts, last minute")
        }
        try await browser.waitForText("What you see is not live")
        try await world.withService({
          $0.access = narrowed
          $0.listen = .tcp(host: "127.0.0.1", port: port)
        }) { _ in
          try await browser.wait(
            until: "!document.body.innerText.includes('Broadcasts, last minute')")
          try await browser.waitForText("Live trips")
        }
        try await browser.waitForText("What you see is not live")
        try await world.withService({
          $0.access = second
          $0.listen = .tcp(host: "127.0.0.1", port: port)
        }) { _ in
          try await browser.wait(until: "document.activeElement?.id == 'token'")
          // Nor is anything shown before this token has shown it.
          _ = try await browser.value(
            of: "void (window.asked = fetch, window.fetch = () => new Promise(() => {}))")
          try await browser.type(app.text)
          try await browser.press("Enter", code: 13)
          try await browser.waitForText("Reading the trips")
          _ = try await browser.value(
            of: "void (window.fetch = window.asked, location.hash = '#/trips')")
          try await browser.waitForText("Live trips")
          // Its health is nothing that this token shows.
          #expect(!(try await browser.text()).contains("Broadcasts, last minute"))
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `says what a reader must know, once, and in their words`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        let trip = try await caller.createTrip()
        try await Browser.open("http://127.0.0.1:\(port)/#/trips/\(trip.id)", in: world) {
          browser in
          try await browser.waitForText("Stale in")
          // What is spoken stays as it is while nothing happens.
          let spoken =
            "[...document.querySelectorAll('main [role=status]')].map(e => e.innerText).join()"
          let words = try await browser.value(of: spoken).string ?? ""
          #expect(words.contains("Revision 1, accepted"))
          #expect(!words.contains("ago") && !words.contains("Stale in"))
          // A type's dates are read by the service's clock, also where they changed.
          let dates = """
            import('/dashboard/card.js').then(({ wording }) => {
              const fields = [{ name: 'at', kind: 'secondsSince1970' }, { name: 'due', kind: 'secondsSince2001' }];
              const words = wording({ fields }, Date.UTC(2024, 4, 25, 12));
              return [words('at', 1716638400), words('due', 738331200), words('at', 1716552000),
                words('at', 9e15), words('n', 1234)].join();
            })
            """
          #expect(
            try await browser.value(of: dates).string
              == "12:00:00,12:00:00,2024-05-24 12:00,–,1,234")
          // All triggers count, also those that are not drawn.
          let counts = """
            import('/dashboard/chart.js').then(({ timeline }) => {
              const at = Date.UTC(2024, 4, 25, 12);
              const triggers = { count: 40, kept: [['a', 'note', at, 'changed']] };
              const sends = [{ sent: at, priority: 10, outcome: 'accepted', text: '', triggers }];
              const figure = timeline({ sends, budget: { capacity: 5, overdraft: 0 } }, at + 1000);
              return figure.querySelector('svg').getAttribute('aria-label') + '; ' + figure.innerText;
            })
            """
          let picture = try await browser.value(of: counts).string ?? ""
          #expect(picture.hasPrefix("40 triggers and 1 broadcast; "))
          #expect(picture.contains("1 of 40 are drawn"))
          // An address that somebody typed wrongly.
          _ = try await browser.value(of: "void (location.hash = '#/trips/%')")
          try await browser.waitForText("The service does not tell this")
          _ = try await browser.value(of: "void (location.hash = '#/')")
          try await browser.waitForText("Spring walk", in: ".trips")
        }
      }
    }
  }

  @Test(.enabled(if: Browser.program != nil, Browser.isMissing))
  func `draws a stale card and each kind of card`() async throws {
    try await World.with { world in
      try await world.withService { caller in
        guard case .tcp(_, let port) = caller.endpoint else { return }
        let turn = try await caller.createTrip(
          #"{"name":"Where do puffins nest?","type":"conversation-turn","dismissal":60}"#)
        let job = try await caller.createTrip(
          #"{"name":"Sorting the herbarium","type":"job-progress","dismissal":60}"#)
        try await Browser.open("http://127.0.0.1:\(port)/#/trips/\(turn.id)", in: world) {
          browser in
          try await browser.waitForText("Sending", in: ".activity")
          try await browser.picture("conversation", isWhole: true)
          try await browser.show(width: 390, height: 844, isDark: true)
          try await browser.picture("conversation-dark-phone", isWhole: true)
          try await browser.show(width: 1_280, height: 900)
          // APNs takes nothing any more: the card says so.
          var faults = SimulatorFaults()
          faults.throttled.share = 1
          try await world.simulator.setFaults(faults)
          try await browser.waitForText("past its stale date", in: ".activity")
          try await browser.picture("stale", isWhole: true)
          _ = try await browser.value(of: "void (location.hash = '#/trips/\(job.id)')")
          try await browser.waitForText("Sorting the herbarium", in: ".activity")
          try await browser.picture("job", isWhole: true)
        }
      }
    }
  }
}
