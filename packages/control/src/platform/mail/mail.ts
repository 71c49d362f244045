/** A mail to one address. */
export interface Mail {
  readonly to: string
  readonly subject: string
  /** Plain text with LF line ends. */
  readonly text: string
}
