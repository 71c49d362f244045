import type { BuildLog } from '../../store/builds/build-log.ts'
import type { BuildRecord } from '../../store/builds/build-record.ts'

/** One build of this agent, ended or not. */
export class Build {
  record: BuildRecord
  readonly log: BuildLog
  /** Aborts when the build is cancelled. */
  readonly cancelled = new AbortController()
  /** Resolves when no part of the build is running. Never rejects. */
  running: Promise<void> = Promise.resolve()

  constructor(record: BuildRecord, log: BuildLog) {
    this.record = record
    this.log = log
  }
}
