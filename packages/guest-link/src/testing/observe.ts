import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'vitest'
import { GuestFileError } from '../guest-file-error.ts'
import type { GuestProcess } from '../guest-process.ts'
import { patience } from './host-guest.ts'

/** Whether a process of this host runs; one that only waits to be reaped does not. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** The first line of stdout; the stream stays open for further reading. */
export async function firstLine(child: GuestProcess): Promise<string> {
  let seen = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    seen += String(chunk)
    if (seen.includes('\n')) break
  }
  return seen.slice(0, seen.indexOf('\n'))
}

/** Waits until the condition holds; fails after the tests' patience. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = patience(what)
  while (!(await condition())) {
    deadline.throwIfOver()
    await wait(5)
  }
}

/** The code with which a file operation fails. */
export async function codeOf(action: Promise<unknown>): Promise<string> {
  const error = await patience('file operation').race(action.catch((reason: unknown) => reason))
  expect(error).toBeInstanceOf(GuestFileError)
  return (error as GuestFileError).code
}
