import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { serveTraced, startTelemetry } from '@offshoot/kit/otlp/telemetry'
import { OtlpReceiver } from '@offshoot/kit/test/otlp-receiver'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GuestLinkLost } from './guest-link-error.ts'
import { GuestLink } from './link.ts'
import { HostGuest, deadlineFor } from './testing/host-guest.ts'
import { firstLine, isAlive, until } from './testing/observe.ts'
import { runToEnd } from './testing/run-to-end.ts'

let guest: HostGuest
let link: GuestLink

beforeEach(async () => {
  guest = await HostGuest.start()
  link = await guest.connect()
})

afterEach(async () => {
  // In this order, so that the guest ends even when there is no link.
  await guest.stop()
  link.close()
})

describe('the end of a link', () => {
  it('fails pending requests with the reason', async () => {
    const child = await link.run({ argv: ['cat'] })
    const failed = new Promise<Error>((resolve) => child.stdout.on('error', resolve))
    link.close()
    await expect(child.exited).rejects.toThrow(GuestLinkLost)
    expect(await failed).toBeInstanceOf(GuestLinkLost)
    expect(await link.closed).toEqual({ reason: 'closed', message: 'the link was closed' })
    await expect(link.run({ argv: ['true'] })).rejects.toThrow(GuestLinkLost)
    await expect(link.ping(deadlineFor('ping'))).rejects.toThrow(GuestLinkLost)
  })

  it('kills running commands at the next HELLO, and not what a finished one left in the background', async () => {
    const left = Number((await runToEnd(link, 'sleep 1000 >/dev/null 2>&1 & echo $!')).stdout)
    const child = await link.run({ argv: ['sh', '-c', 'sleep 1000 & echo $!; wait'], stdin: 'none' })
    const running = Number(await firstLine(child))
    link.close()
    link = await guest.connect()
    await until('the running command to be gone', () => !isAlive(running) && !isAlive(child.pid))
    expect(isAlive(left)).toBe(true)
    process.kill(left, 'SIGKILL')
  })

  it('the next link is served, also during heavy output', async () => {
    for (let i = 0; i < 30; i++) {
      const child = await link.run({ argv: ['sh', '-c', 'yes & yes >&2'], stdin: 'none' })
      child.stderr.resume()
      await firstLine(child)
      link.close()
      link = await guest.connect()
      expect((await runToEnd(link, `echo ${i}`)).stdout.toString()).toBe(`${i}\n`)
    }
  })
})

async function makeRequests(): Promise<void> {
  await runToEnd(link, 'echo top-secret')
  await link.run({ argv: ['/no/such/program'] }).catch(() => undefined)
  await link.ports.dial(1, deadlineFor('dial')).catch(() => undefined)
  await link.kept(deadlineFor('kept'))
}

it('has a span for each request of a traced request, without the command', async () => {
  const receiver = await OtlpReceiver.start()
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = receiver.url
  const telemetry = await startTelemetry('agent')
  delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT']
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  const served = Promise.withResolvers<void>()
  serveTraced({ request, response, requestId: 'r' }, () => void makeRequests().then(served.resolve, served.reject))
  await served.promise
  await runToEnd(link, 'echo outside of a traced request')
  response.emit('close')
  await telemetry?.stop()
  await receiver.stop()
  const root = receiver.spans.find(({ parent }) => parent === '')
  const steps = receiver.spans.filter(({ parent }) => parent === root?.id)
  expect(steps.map(({ name, isError }) => `${name} ${isError ? 'fails' : 'ends'}`)).toEqual([
    'guest run ends',
    'guest run fails',
    'guest dial fails',
    'guest kept ends',
  ])
  expect(receiver.spans).toHaveLength(5)
  expect(JSON.stringify(receiver.spans)).not.toMatch(/top-secret|such/)
})

it('connect fails at its deadline when no guest listens', async () => {
  const absent = join(guest.root, 'absent.sock')
  await expect(GuestLink.connect(absent, Deadline.after(20, 'guest'))).rejects.toThrow(DeadlineExceeded)
})
