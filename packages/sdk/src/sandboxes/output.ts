/** How output is handed over: as text, in which invalid UTF-8 is replaced by U+FFFD, or exactly. */
export type OutputEncoding = 'text' | 'bytes'

type DataOf<E extends OutputEncoding> = E extends 'bytes' ? Uint8Array<ArrayBuffer> : string

/** A part of the output of a command. A text never splits a character. */
export interface OutputChunk<E extends OutputEncoding = 'text'> {
  readonly stream: 'stdout' | 'stderr'
  readonly data: DataOf<E>
}

/** The end of a command. */
export interface CommandExit {
  /** 128 + signal if a signal ended it. */
  readonly exitCode: number
  readonly durationMs: number
}

export function wireEncoding(encoding: OutputEncoding | undefined): 'base64' | 'utf8' {
  return encoding === 'bytes' ? 'base64' : 'utf8'
}

export function decodeChunk<E extends OutputEncoding>(chunk: string, encoding: E | undefined): DataOf<E> {
  return (encoding === 'bytes' ? fromBase64(chunk) : chunk) as DataOf<E>
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

/** Characters per call: functions take a limited number of arguments. */
const PIECE = 0x8000

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += PIECE) binary += String.fromCharCode(...bytes.subarray(at, at + PIECE))
  return btoa(binary)
}

/** Input for a command, as the API takes it. */
export function wireInput(stdin: string | Uint8Array): { stdin: string; encoding?: 'base64' } {
  return typeof stdin === 'string' ? { stdin } : { stdin: toBase64(stdin), encoding: 'base64' }
}
