import type { BuildLog } from '../../store/builds/build-log.ts'
import type { BuildRecord } from '../../store/builds/build-record.ts'

/** One build of this agent, ended or not. */
export class Build {
  record: BuildRecord
  readonly log: BuildLog
  /** Aborts when it is to be given up. */
  readonly cancelled = new AbortController()
  /** Settles, and never rejects, when nothing of it runs any more. */
  running: Promise<void> = Promise.resolve()

  constructor(record: BuildRecord, log: BuildLog) {
    this.record = record
    this.log = log
  }
}
