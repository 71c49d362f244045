import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create()).id
})
afterAll(giveBack)

const path = () => `/v1/sandboxes/${id}/exec/ws`
const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
}

const refused = async (method: string, at: string, headers: Record<string, string>) => {
  const answer = await offshoot.request(method, at, { headers })
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  return [answer.status, answer.body.error, answer.body.detail]
}

describe('an upgrade', () => {
  it('is refused before the upgrade exactly as a plain route', async () => {
    expect(await refused('GET', path(), { ...upgrade, authorization: '' })).toEqual([
      401,
      'unauthorized',
      'missing bearer token',
    ])
    expect(await refused('GET', `${path()}?access_token=x`, { ...upgrade, authorization: '' })).toEqual([
      401,
      'unauthorized',
      'missing bearer token',
    ])
    expect(await refused('GET', path(), { ...upgrade, authorization: 'Bearer ofs_x' })).toEqual([
      401,
      'unauthorized',
      'invalid api token',
    ])
    expect(await refused('GET', '/v1/sandboxes/00000000-0000-4000-8000-000000000000/exec/ws', upgrade)).toEqual([
      404,
      'not found',
      undefined,
    ])
    expect(await refused('POST', path(), upgrade)).toEqual([405, 'method not allowed', undefined])
    expect(await refused('GET', path(), {})).toEqual([426, 'upgrade required', expect.any(String)])
    expect(await refused('GET', path(), { ...upgrade, 'sec-websocket-version': '7' })).toEqual([
      400,
      'not a WebSocket handshake of version 13',
      undefined,
    ])
  })

  it('opens by access_token, which no log holds', async () => {
    const { base_url, api_key } = offshoot.credentials
    const request = httpRequest(`${base_url}${path()}?access_token=${api_key}`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        'x-request-id': 'the-callers-own',
      },
    })
    const upgraded = Promise.withResolvers<string[]>()
    request.on('error', upgraded.reject).on('upgrade', ({ rawHeaders }, socket) => {
      socket.destroy()
      upgraded.resolve(rawHeaders)
    })
    request.end()
    const headers = (await upgraded.promise).map((text) => text.toLowerCase())
    expect(headers.filter((text) => text === 'x-request-id')).toHaveLength(1)
    expect(headers).toContain('the-callers-own')
    for (const name of ['control', 'agent'] as const) {
      await until('the line in the log', async () => (await offshoot.log(name)).includes('the-callers-own'))
      expect(await offshoot.log(name)).not.toContain(api_key.slice(13))
    }
  })
})
