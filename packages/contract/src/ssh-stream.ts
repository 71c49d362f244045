/**
 * The protocol between an edge and an agent for one command of an SSH session: the upgrade {@link SSH_STREAM_PROTOCOL},
 * then frames in both directions.
 *
 *     type u8 | payload bytes u32 | payload        (big-endian)
 *
 * The edge sends START first. The agent answers STARTED or FAILED, and ends with EXIT or FAILED. The edge sends at most
 * {@link SSH_STDIN_WINDOW} bytes of STDIN that the agent has not credited, so that signals never wait behind input. The
 * connection's own flow control limits the output. When the edge closes the connection, the agent kills the command.
 */
import { z } from 'zod'
import { terminalSize } from './terminal.ts'

export const SSH_STREAM_PROTOCOL = 'offshoot-ssh'

export const SshFrame = {
  /** JSON of {@link sshStart}. */
  start: 1,
  stdin: 2,
  /** End of the input. */
  stdinEnd: 3,
  /** The name of a signal, such as `SIGINT`. */
  signal: 4,
  /** Rows and columns, each u16. */
  resize: 5,
  started: 16,
  stdout: 17,
  stderr: 18,
  /** Bytes of STDIN that the command has taken, u32. */
  credit: 19,
  /** JSON of {@link sshExit}. The last frame. */
  exit: 20,
  /** A sentence for the user. The last frame. */
  failed: 21,
} as const

/** Bytes of STDIN without credit. */
export const SSH_STDIN_WINDOW = 256 * 1024
const HEADER_BYTES = 5
/** Maximum bytes of a payload. */
export const SSH_FRAME_MAX_BYTES = 256 * 1024
const MAX_VARIABLES = 128
const MAX_VALUE_CHARS = 32 * 1024

/** What the agent runs. */
export const sshStart = z.strictObject({
  /** `shell`: a login shell. `sftp`: the sandbox's own SFTP server. */
  kind: z.enum(['shell', 'exec', 'sftp']),
  /** Of `exec`: the user's shell runs it. */
  command: z.string().max(128 * 1024),
  /** `null`: the user of the template. */
  user: z.string().max(64).nullable(),
  pty: terminalSize('pty').nullable(),
  env: z
    .record(z.string().max(256), z.string().max(MAX_VALUE_CHARS))
    .refine((env) => Object.keys(env).length <= MAX_VARIABLES, `env must have at most ${MAX_VARIABLES} entries`),
})
export type SshStart = z.infer<typeof sshStart>

/** `signal`: the name without SIG, if one ended the command. */
export const sshExit = z.strictObject({ code: z.int().nullable(), signal: z.string().nullable() })
export type SshExit = z.infer<typeof sshExit>

export interface SshStreamFrame {
  readonly type: number
  /** A view, or a copy if the frame came in pieces. */
  readonly payload: Buffer
}

export function encodeSshFrame(type: number, payload: Uint8Array | string = ''): Buffer {
  const bytes = Buffer.from(payload as string)
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes.length)
  frame.writeUInt8(type, 0)
  frame.writeUInt32BE(bytes.length, 1)
  frame.set(bytes, HEADER_BYTES)
  return frame
}

/** The peer does not speak the protocol. */
export class SshStreamError extends Error {
  override readonly name = 'SshStreamError'
}

/** Splits received bytes into frames. */
export class SshFrameDecoder {
  #rest: Buffer = Buffer.alloc(0)

  /** @throws SshStreamError for a payload over {@link SSH_FRAME_MAX_BYTES} */
  push(chunk: Buffer): SshStreamFrame[] {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: SshStreamFrame[] = []
    while (bytes.length >= HEADER_BYTES) {
      const length = bytes.readUInt32BE(1)
      if (length > SSH_FRAME_MAX_BYTES) throw new SshStreamError(`frame of ${length} bytes`)
      if (bytes.length < HEADER_BYTES + length) break
      frames.push({ type: bytes.readUInt8(0), payload: bytes.subarray(HEADER_BYTES, HEADER_BYTES + length) })
      bytes = bytes.subarray(HEADER_BYTES + length)
    }
    this.#rest = bytes
    return frames
  }
}

/** `GET` upgrades to {@link SSH_STREAM_PROTOCOL}. */
export const sshCommandPath = (id: string) => `/v1/sandboxes/${id}/ssh/command`
/** `GET` with `?address=&port=` upgrades to a TCP connection from the sandbox to that address. */
export const sshConnectPath = (id: string) => `/v1/sandboxes/${id}/ssh/connect`
/** `GET` with `?address=&port=` answers with {@link sshListenEvent}s, one on each line, while the sandbox listens. */
export const sshListenPath = (id: string) => `/v1/sandboxes/${id}/ssh/listen`
/** `GET` upgrades to the TCP connection that an event of the listener named. */
export const sshAcceptPath = (id: string, connection: string) => `/v1/sandboxes/${id}/ssh/accepted/${connection}`

/** Query of connections and listeners. */
export const sshAddressQuery = z.strictObject({
  /** An IP address or a name; `localhost` is 127.0.0.1 and then ::1. */
  address: z.string().min(1).max(255),
  port: z
    .string()
    .regex(/^\d{1,5}$/)
    .transform(Number)
    .pipe(z.int().max(65_535)),
})

export const sshListenEvent = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('listening'), port: z.int() }),
  z.strictObject({ kind: z.literal('connection'), id: z.string(), address: z.string(), port: z.int() }),
])
export type SshListenEvent = z.infer<typeof sshListenEvent>
