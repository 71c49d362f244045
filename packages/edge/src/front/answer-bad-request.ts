import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { REQUEST_ID } from '../http/request-id.ts'

const ANSWERS: Readonly<Record<string, readonly [status: string, error: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'request header fields too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'chunk extensions too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request timeout'],
}
const BAD_REQUEST = ['400 Bad Request', 'bad request'] as const

/** Answers bytes that are not a valid HTTP request. */
export function answerBadRequest({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const [status, error] = ANSWERS[code ?? ''] ?? BAD_REQUEST
  const body = JSON.stringify({ error })
  const head = [
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID}: ${randomUUID()}`,
    'connection: close',
  ].join('\r\n')
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`)
}
