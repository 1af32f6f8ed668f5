/// Runs the jobs of actors that live on a loop.
///
/// Actors and tasks have an executor object each: a job must run in the context that it was
/// enqueued for, or the runtime enqueues it once more, and a job does not say which that is.
package final class LoopSerialExecutor: SerialExecutor {
  private unowned let loop: EventLoop

  init(loop: EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) { loop.enqueue(.serial(UnownedJob(job))) }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  package func checkIsolated() {
    precondition(loop.isOnLoop, "this belongs to the loop \(loop.name)")
  }

  package func isIsolatingCurrentContext() -> Bool? { loop.isOnLoop }
}

/// Runs tasks that prefer a loop: `Task(executorPreference: loop.tasks) { … }`.
package final class LoopTaskExecutor: TaskExecutor {
  private unowned let loop: EventLoop

  init(loop: EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) { loop.enqueue(.task(UnownedJob(job))) }
}
