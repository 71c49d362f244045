import { json } from 'node:stream/consumers'
import type { FakeAgent } from './fake-agent.ts'

/** Makes every recovery on these agents fail, so that it needs no server. @returns the archives that recoveries have read */
export function failRecoveries(agents: readonly FakeAgent[]): unknown[] {
  const fed: unknown[] = []
  for (const agent of agents)
    agent.onOperation = (request, response) => {
      if (request.url?.endsWith('/archive/feed') === true) void json(request).then((body) => fed.push(body))
      else if (request.url?.endsWith('/exec/stream') === true) {
        const exit = JSON.stringify({ exit_code: 1, duration_ms: 1 })
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: exit\ndata: ${exit}\n\n`)
      } else return false
      return true
    }
  return fed
}
