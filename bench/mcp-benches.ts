import type { Answer } from '../tests/setup/http.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_templates', arguments: {} } }
const ACCEPT = 'application/json, text/event-stream'

/** A tool of the MCP server. Floor: the request of the API that the tool makes. Alternately. */
export async function mcpCall(offshoot: Offshoot, n = 500): Promise<Record<string, Figure>> {
  const [tool, api] = [new Samples(), new Samples()]
  for (const _round of rounds(n)) {
    await tool.time(async () => {
      expectTemplates(await offshoot.request('POST', '/mcp', { headers: { accept: ACCEPT }, body: CALL }))
    })
    await api.time(async () => expectTemplates(await offshoot.request('GET', '/v1/templates')))
  }
  return { mcp_call: tool.figure('ms', api.p50) }
}

function expectTemplates({ status, text }: Answer): void {
  if (status !== 200 || !text.includes('code-interpreter') || text.includes('"isError":true')) {
    throw new Error(`answered ${status}: ${text.slice(0, 300)}`)
  }
}
