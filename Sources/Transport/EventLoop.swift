internal import CLinux
package import Clocks
internal import Glibc
internal import Synchronization

/// One thread that waits for descriptors, timers and jobs, and runs all that belongs to them.
///
/// A connection and the actors around it live on one loop, so that their calls to each other cost
/// no thread change. A turn is: descriptors that are ready, timers that are due, jobs, and at last
/// one flush of every stream that was written to; so all that a turn writes leaves together.
///
/// Start tasks that touch connections with `Task(executorPreference: loop.tasks)`: without the
/// preference each continuation would go through the global pool and back, a hundred times the
/// cost.
///
/// `@unchecked Sendable` is right because the state of a turn is touched on the loop's
/// thread only, checked by ``preconditionOnLoop()`` in debug builds, and the rest is atomic or
/// behind the inbox's lock.
@usableFromInline
package final class EventLoop: @unchecked Sendable {
  /// Called when a descriptor is ready; `events` are epoll's bits.
  package typealias ReadyHandler = (_ events: UInt32) -> Void

  enum Work {
    case serial(UnownedJob)
    case task(UnownedJob)
    case closure(@Sendable () -> Void)
  }

  private struct Slot {
    var descriptor: Int32 = -1
    var generation: UInt32 = 0
    var ready: ReadyHandler?
  }

  package let name: String
  /// Whether a simulation moves its time by hand; see ``init(virtual:at:)``.
  package let isVirtual: Bool
  private let epoll: Int32
  private let wakeUp: Int32
  private let inbox = Lock<[Work]>([])
  private let isAsleep = Atomic<Bool>(false)
  private let shouldStop = Atomic<Bool>(false)
  private let thread = Atomic<UInt>(0)
  // What follows is the loop's thread's alone.
  private var timers: TimerWheel<() -> Void>
  private var turnBegan: Moment
  // Jobs pass through these by the hundred thousand: the run-time check for overlapping accesses is
  // left out, and the two methods that use each of them do not call out while they change it.
  @exclusivity(unchecked) private var pending: [Work] = []
  @exclusivity(unchecked) private var running: [Work] = []
  private var flushes: [() -> Void] = []
  private var flushing: [() -> Void] = []
  private var dueTimers: [() -> Void] = []
  private var slots: [Slot] = []
  private var freeSlots: [Int] = []
  private var serialExecutor: LoopSerialExecutor?
  private var taskExecutor: LoopTaskExecutor?
  /// One for all streams of this loop, since only one of them reads at a time.
  let receiveBuffers = ReceiveBuffers()

  /// Starts the loop's thread.
  ///
  /// - Parameter name: shown by debuggers; at most 15 bytes of it.
  /// - Throws: ``SystemError`` when the process is out of descriptors or threads.
  package init(name: String) throws(SystemError) {
    self.name = name
    isVirtual = false
    epoll = try systemCall("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    wakeUp = try systemCall("eventfd") { eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)) }
    let now = MonotonicClock.now()
    timers = TimerWheel(now: now)
    turnBegan = now
    serialExecutor = LoopSerialExecutor(loop: self)
    taskExecutor = LoopTaskExecutor(loop: self)
    try watchWakeUps()
    try startThread()
  }

  /// A loop without a thread, whose time is what a simulation says: it takes its turns by
  /// ``takeTurn(at:)``, on the thread that calls it. It watches no descriptors.
  ///
  /// - Parameter start: what its clock reads first.
  package init(virtual name: String, at start: Moment) {
    self.name = name
    isVirtual = true
    (epoll, wakeUp) = (-1, -1)
    timers = TimerWheel(now: start)
    turnBegan = start
    serialExecutor = LoopSerialExecutor(loop: self)
    taskExecutor = LoopTaskExecutor(loop: self)
  }

  /// For actors that live on this loop.
  package var serial: LoopSerialExecutor { serialExecutor.unsafelyUnwrapped }

  /// For tasks whose `nonisolated` parts shall run on this loop too.
  package var tasks: LoopTaskExecutor { taskExecutor.unsafelyUnwrapped }

  @usableFromInline package var isOnLoop: Bool {
    thread.load(ordering: .relaxed) == UInt(pthread_self())
  }

  /// Stops the program in debug builds when called on another thread.
  @inline(__always)
  package func preconditionOnLoop() {
    assert(isOnLoop, "this belongs to the loop \(name) and was called on another thread")
  }

  /// Runs `body` on the loop: later in this turn when called there, soon otherwise.
  package func execute(_ body: @escaping @Sendable () -> Void) { enqueue(.closure(body)) }

  /// Ends the thread after the present turn. Timers and jobs that were not run are dropped, so
  /// every owner of a task on this loop must have ended it before.
  package func stop() {
    if isVirtual { return releaseAll() }
    shouldStop.store(true, ordering: .releasing)
    wake()
  }

  // MARK: Timers

  /// The time at which this turn began; real time, not a scaled clock's.
  package var now: Moment {
    preconditionOnLoop()
    return turnBegan
  }

  /// The same where it is known, and otherwise what the machine's monotonic clock says.
  package var nowFromAnyThread: Moment { isOnLoop ? turnBegan : clockReading }

  /// What the loop's clock reads, within a turn too: the machine's, or a simulation's.
  package var clockReading: Moment { isVirtual ? turnBegan : MonotonicClock.now() }

  /// Runs `body` at `moment` or within about a millisecond after it.
  package func schedule(at moment: Moment, _ body: @escaping () -> Void) -> LoopTimer {
    preconditionOnLoop()
    return timers.schedule(at: moment, body)
  }

  package func cancel(_ timer: LoopTimer) {
    preconditionOnLoop()
    timers.cancel(timer)
  }

  // MARK: Descriptors

  /// Watches a descriptor until ``forget(_:)``; events of a forgotten one are never delivered.
  func watch(_ descriptor: Int32, events: UInt32, ready: @escaping ReadyHandler)
    throws(SystemError) -> Watch
  {
    preconditionOnLoop()
    let index: Int
    if let reused = freeSlots.popLast() {
      index = reused
    } else {
      index = slots.count
      slots.append(Slot())
    }
    slots[index].descriptor = descriptor
    slots[index].ready = ready
    let watch = Watch(index: index, generation: slots[index].generation)
    var event = epoll_event(events: events, data: epoll_data_t(u64: watch.packed))
    let loop = epoll
    try systemCall("epoll_ctl") { epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) }
    return watch
  }

  func change(_ watch: Watch, events: UInt32) {
    preconditionOnLoop()
    guard slots[watch.index].generation == watch.generation else { return }
    var event = epoll_event(events: events, data: epoll_data_t(u64: watch.packed))
    let result = epoll_ctl(epoll, EPOLL_CTL_MOD, slots[watch.index].descriptor, &event)
    precondition(result == 0, "a watched descriptor was closed behind the loop's back")
  }

  func forget(_ watch: Watch) {
    preconditionOnLoop()
    guard slots[watch.index].generation == watch.generation else { return }
    var event = epoll_event()
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, slots[watch.index].descriptor, &event)
    slots[watch.index].ready = nil
    slots[watch.index].descriptor = -1
    slots[watch.index].generation &+= 1
    freeSlots.append(watch.index)
  }

  /// Runs `flush` once at the end of this turn.
  package func atEndOfTurn(_ flush: @escaping () -> Void) {
    preconditionOnLoop()
    flushes.append(flush)
  }

  // MARK: Jobs

  func enqueue(_ work: Work) {
    if isOnLoop {
      pending.append(work)
      return
    }
    inbox.withLock { $0.append(work) }
    // The loop looks at the inbox after it has said that it sleeps, so a wake-up is never missed.
    if isAsleep.exchange(false, ordering: .acquiringAndReleasing) { wake() }
  }

  private func wake() {
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)
  }

  private func watchWakeUps() throws(SystemError) {
    var event = epoll_event(
      events: EPOLLIN.rawValue, data: epoll_data_t(u64: UInt64.max))
    let loop = epoll
    let descriptor = wakeUp
    try systemCall("epoll_ctl") { epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) }
  }

  private func startThread() throws(SystemError) {
    var handle = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let failure = pthread_create(&handle, nil, Self.threadMain, context)
    guard failure == 0 else {
      Unmanaged<EventLoop>.fromOpaque(context).release()
      throw SystemError(call: "pthread_create", code: failure)
    }
    pthread_detach(handle)
  }

  private static let threadMain:
    @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
      { context in
        guard let context else { return nil }
        let loop = Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue()
        clinux_name_thread(loop.name)
        loop.run()
        return nil
      }

  // MARK: Virtual time

  /// When a virtual loop has something to do: at once, or never later than its earliest timer; nil
  /// when it waits for others.
  package var nextTurn: Moment? {
    if !pending.isEmpty || inbox.withLock({ !$0.isEmpty }) { return turnBegan }
    return timers.nextExpiry
  }

  /// Runs all that a virtual loop has to do at `moment`, which is not before its last turn.
  package func takeTurn(at moment: Moment) {
    precondition(isVirtual && moment >= turnBegan, "time goes forward, by hand or by itself")
    thread.store(UInt(pthread_self()), ordering: .releasing)
    turnBegan = moment
    runTimers()
    runWork()
    thread.store(0, ordering: .releasing)
  }

  // MARK: The turn

  private func run() {
    thread.store(UInt(pthread_self()), ordering: .releasing)
    let capacity = 256
    let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
    defer { events.deallocate() }
    while true {
      let ready = clinux_epoll_wait(epoll, events, Int32(capacity), timeout())
      isAsleep.store(false, ordering: .releasing)
      turnBegan = MonotonicClock.now()
      if ready > 0 { deliver(events, Int(ready)) }
      runTimers()
      runWork()
      if shouldStop.load(ordering: .acquiring) { break }
    }
    thread.store(0, ordering: .releasing)
    close(epoll)
    close(wakeUp)
    releaseAll()
  }

  /// Handlers and timers hold their owners; a stopped loop must not keep them alive.
  private func releaseAll() {
    slots.removeAll()
    timers = TimerWheel(now: turnBegan)
    flushes.removeAll()
  }

  /// In nanoseconds; below 0 without limit.
  private func timeout() -> Int64 {
    if !pending.isEmpty { return 0 }
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    if inbox.withLock({ !$0.isEmpty }) || shouldStop.load(ordering: .acquiring) { return 0 }
    guard let next = timers.nextExpiry else { return -1 }
    return max(0, next.nanoseconds - MonotonicClock.now().nanoseconds)
  }

  private func deliver(_ events: UnsafeMutablePointer<epoll_event>, _ count: Int) {
    for position in 0..<count {
      let event = events[position]
      if event.data.u64 == UInt64.max {
        var value: UInt64 = 0
        _ = read(wakeUp, &value, 8)
        continue
      }
      let watch = Watch(packed: event.data.u64)
      // A handler earlier in this batch may have closed the descriptor, and another may have
      // taken its slot: the generation tells.
      guard slots[watch.index].generation == watch.generation,
        let handler = slots[watch.index].ready
      else { continue }
      handler(event.events)
    }
  }

  private func runTimers() {
    timers.expire(at: turnBegan, into: &dueTimers)
    if dueTimers.isEmpty { return }
    let due = dueTimers
    dueTimers.removeAll(keepingCapacity: true)
    for body in due { body() }
  }

  /// Runs jobs and flushes until there are none, but looks at the descriptors again after a while,
  /// so that a busy task cannot starve them.
  private func runWork() {
    let serial = self.serial.asUnownedSerialExecutor()
    let tasks = self.tasks.asUnownedTaskExecutor()
    for _ in 0..<64 {
      takeInbox()
      if pending.isEmpty {
        if flushes.isEmpty { return }
        runFlushes()
        continue
      }
      swap(&pending, &running)
      for work in running { perform(work, serial, tasks) }
      running.removeAll(keepingCapacity: true)
    }
    runFlushes()
  }

  private func takeInbox() {
    inbox.withLock { arrived in
      if arrived.isEmpty { return }
      pending.append(contentsOf: arrived)
      arrived.removeAll(keepingCapacity: true)
    }
  }

  private func runFlushes() {
    swap(&flushes, &flushing)
    for flush in flushing { flush() }
    flushing.removeAll(keepingCapacity: true)
  }

  @inline(__always)
  private func perform(
    _ work: Work, _ serial: UnownedSerialExecutor, _ tasks: UnownedTaskExecutor
  ) {
    switch work {
    case .serial(let job): job.runSynchronously(isolatedTo: serial, taskExecutor: tasks)
    case .task(let job): job.runSynchronously(on: tasks)
    case .closure(let body): body()
    }
  }
}

/// Names a watched descriptor; the generation makes a stale one harmless.
struct Watch {
  let index: Int
  let generation: UInt32

  init(index: Int, generation: UInt32) {
    self.index = index
    self.generation = generation
  }

  init(packed: UInt64) {
    index = Int(packed & 0xffff_ffff)
    generation = UInt32(packed >> 32)
  }

  var packed: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(index)) }
}
