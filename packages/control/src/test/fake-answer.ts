import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Handled } from './handled.ts'

export function answer(
  response: ServerResponse,
  { status, body, headers }: Handled,
  requestId: string | undefined,
): void {
  const content = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? '' : JSON.stringify(body))
  response.writeHead(status, {
    'content-type': Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json',
    ...(status === 204 ? {} : { 'content-length': content.length }),
    'x-request-id': requestId,
    ...headers,
  })
  response.end(content)
}

export async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** A record of the agent's log as a server-sent event. */
export function frame(record: AgentRecord): string {
  return `id: ${record.seq}\nevent: ev\ndata: ${JSON.stringify(record)}\n\n`
}
