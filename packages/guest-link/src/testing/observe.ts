import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'vitest'
import { GuestFileError } from '../guest-file-error.ts'
import type { GuestProcess } from '../guest-process.ts'
import { deadlineFor } from './host-guest.ts'

/** Whether a process of this host runs. A zombie does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Whether a process has child processes. */
export function hasChildren(pid: number): boolean {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() !== ''
}

/** Reads the first line of stdout. The stream stays open. */
export async function firstLine(child: GuestProcess): Promise<string> {
  let seen = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    seen += String(chunk)
    if (seen.includes('\n')) break
  }
  return seen.slice(0, seen.indexOf('\n'))
}

/** Waits until the condition holds. @throws DeadlineExceeded */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = deadlineFor(what)
  while (!(await condition())) {
    deadline.throwIfOver()
    await wait(5)
  }
}

/** The code of the error with which a file operation must fail. */
export async function fileErrorCode(action: Promise<unknown>): Promise<string> {
  const error = await deadlineFor('file operation').race(action.catch((reason: unknown) => reason))
  expect(error).toBeInstanceOf(GuestFileError)
  return (error as GuestFileError).code
}
