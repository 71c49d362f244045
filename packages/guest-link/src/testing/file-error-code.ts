import { expect } from 'vitest'
import { GuestFileError } from '../guest-file-error.ts'
import { patience } from './host-guest.ts'

/** The code with which a file operation fails. */
export async function codeOf(action: Promise<unknown>): Promise<string> {
  const error = await patience('file operation').race(action.catch((reason: unknown) => reason))
  expect(error).toBeInstanceOf(GuestFileError)
  return (error as GuestFileError).code
}
