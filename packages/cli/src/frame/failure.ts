import { printable } from './output.ts'

/** Exit codes of every command. `exec` and terminals end with the code of their own command instead. */
export const EXIT = { failed: 1, usage: 2, notFound: 3, noPermission: 4, limit: 5, interrupted: 130 } as const

/** A refusal or fault that the user should read: one sentence, and what to do next. Its stack is never shown. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: number
  /** What to do next, as a sentence or a command line; without a final full stop. */
  readonly next: string | null
  readonly requestId: string | null

  constructor(
    message: string,
    {
      exitCode = EXIT.failed,
      next = null,
      requestId = null,
      cause,
    }: { exitCode?: number; next?: string | null; requestId?: string | null; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.exitCode = exitCode
    this.next = next
    this.requestId = requestId
  }
}

/** A command line that cannot be carried out. The frame adds the command's correct form. */
export class UsageError extends Failure {
  /** The correct form of the command, as in `offshoot volume rm <volume...>`. */
  form: string | null = null

  constructor(message: string) {
    super(message, { exitCode: EXIT.usage })
  }
}

/** The line that tells a user about a failure: what happened, what to do next, the id of the request. */
export function failureLine({ message, next, requestId }: Failure): string {
  // Texts of the server can hold names that a sandbox chose.
  const text = printable(message.replaceAll(/\s*\n\s*/g, ' ').replace(/\.$/, ''))
  const hint = next === null ? '' : `: ${next}`
  const id = requestId === null ? '' : ` (request ${requestId})`
  return `offshoot: ${text}${hint}${id}`
}
