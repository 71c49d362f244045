/** An answer of a fake agent. */
export interface Handled {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The answer does not arrive. */
export const LOST: Handled = { status: 0 }
