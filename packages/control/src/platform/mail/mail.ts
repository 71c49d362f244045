/** What is sent to one address. */
export interface Mail {
  readonly to: string
  readonly subject: string
  /** Plain text, its lines ended by LF. */
  readonly text: string
}
