/** What a fake agent answers. */
export interface Handled {
  readonly status: number
  readonly body?: unknown
}
