import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { isListening } from './is-listening.ts'

describe.each(['127.0.0.1', '::'])('a port of %s', (host) => {
  it('is known as that of the process that listens there, while it does', async () => {
    const server = createServer().listen(0, host)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await isListening(process.pid, port)).toBe(true)
    expect(await isListening(process.ppid, port)).toBe(false)
    server.close()
    await once(server, 'close')
    expect(await isListening(process.pid, port)).toBe(false)
  })
})

it('no process counts as listening while ss cannot run', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const path = process.env['PATH'] ?? ''
  process.env['PATH'] = '/nonexistent'
  try {
    expect(await isListening(process.pid, port)).toBe(false)
  } finally {
    process.env['PATH'] = path
  }
  expect(await isListening(process.pid, port)).toBe(true)
  server.close()
})

it('a process that is gone listens nowhere', async () => {
  expect(await isListening(2 ** 22 + 1, 80)).toBe(false)
})
