import type { IncomingMessage, ServerResponse } from 'node:http'

/** What E2B's clients and their users get instead of an answer from a sandbox. */
export interface PortRefusal {
  readonly status: number
  readonly title: string
  readonly body: Readonly<Record<string, string | number>>
}

/** @param shown the id as the client wrote it */
export function sandboxNotFound(shown: string): PortRefusal {
  const message = 'The sandbox was not found'
  return { status: 502, title: 'Sandbox Not Found', body: { sandboxId: shown, message, code: 502 } }
}

export function portClosed(shown: string, port: number): PortRefusal {
  const message = 'The sandbox is running but port is not open'
  return { status: 502, title: 'Closed Port Error', body: { sandboxId: shown, message, port, code: 502 } }
}

export function unavailable(shown: string, status: number, message: string): PortRefusal {
  return { status, title: 'Sandbox Unavailable', body: { sandboxId: shown, message, code: status } }
}

/** A page for browsers, and JSON for all others. */
export function sendPortRefusal(request: IncomingMessage, response: ServerResponse, refusal: PortRefusal): void {
  if (response.headersSent) return void response.destroy()
  const { status, body } = refusal
  const isBrowser = /\bMozilla\//.test(request.headers['user-agent'] ?? '')
  const text = isBrowser ? pageOf(refusal) : JSON.stringify(body)
  response.writeHead(status, {
    'content-type': isBrowser ? 'text/html; charset=utf-8' : 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(isBrowser && { 'content-security-policy': "default-src 'none'" }),
    // The rest of an upload is not read.
    ...(!request.complete && { connection: 'close' }),
  })
  response.end(text)
}

function pageOf({ title, body }: PortRefusal): string {
  const rows = Object.entries(body).map(([name, value]) => `<p>${name}: ${escape(String(value))}</p>`)
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1>${rows.join('')}</body></html>
`
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
