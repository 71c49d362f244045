import { type Telemetry, startTelemetry } from '@offshoot/kit/otlp/telemetry'
import { OtlpReceiver } from '@offshoot/kit/test/otlp-receiver'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serveEdge } from '../test/serve-edge.ts'

const TRACE = 'a'.repeat(32)
const traceparent = `00-${TRACE}-${'b'.repeat(16)}-01`

let receiver: OtlpReceiver
let telemetry: Telemetry | null

// An edge makes spans only if telemetry has started before it.
beforeAll(async () => {
  receiver = await OtlpReceiver.start()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '5' }
  Object.assign(process.env, env)
  telemetry = await startTelemetry('edge-under-test')
  for (const name of Object.keys(env)) delete process.env[name]
})

afterAll(async () => {
  await telemetry?.stop()
  await receiver.stop()
})

const here = serveEdge()

it('a visitor’s trace goes on through the edge to the server inside', async () => {
  const inside: unknown[] = []
  here.answer = ({ headers }, response) => {
    inside.push(headers['traceparent'], headers['tracestate'])
    response.end('ok')
  }
  const headers = { traceparent, tracestate: 'a=b' }
  expect((await here.edge.ask(here.port, '/path?token=in-the-query', { headers })).status).toBe(200)
  await expect.poll(() => receiver.spans.length).toBe(2)
  const served = receiver.spans.find(({ kind }) => kind === 2)
  const opened = receiver.spans.find(({ kind }) => kind === 3)
  expect(served).toMatchObject({ trace: TRACE, parent: 'b'.repeat(16), name: 'GET' })
  expect(served?.attributes).toMatchObject({ 'http.response.status_code': 200 })
  expect(opened).toMatchObject({ parent: served?.id, attributes: { 'http.response.status_code': 101 } })
  expect(inside).toEqual([`00-${TRACE}-${served?.id}-01`, 'a=b'])
  expect(JSON.stringify(receiver.spans)).not.toMatch(/in-the-query|path"/)
})
