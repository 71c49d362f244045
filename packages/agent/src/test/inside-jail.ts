import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'

/** The report of inside-jail.c about its jail. */
export interface Report {
  readonly descriptors: number[]
  readonly pid: number
  readonly parent: number
  readonly others: number
  readonly root: string[]
  readonly above: string[]
  readonly vm: string[]
  readonly bake: string[]
  readonly dev: string[]
  readonly etc: string[]
  readonly proc: string[]
  readonly read: string[]
  readonly writes: Record<string, number>
  readonly kvm: number
  readonly runs_own: number
  readonly calls: number[]
  readonly allowed: number[]
  readonly uid: number
  readonly gid: number
}

/** Waits for the report in the program's log. @throws Error with the launcher's output if there is no report */
export async function readReport(logPath: string, deadline: Deadline): Promise<Report> {
  for (;;) {
    const text = await readFile(logPath, 'utf8')
    if (text.endsWith('}\n')) return JSON.parse(text) as Report
    if (!text.startsWith('{') && text !== '') throw new Error(text)
    deadline.throwIfOver()
    await wait(10)
  }
}
