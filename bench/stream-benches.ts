import { once } from 'node:events'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { Deadline } from '@offshoot/kit/deadline'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { BaselineVm } from './baseline-vm.ts'
import { type Figure, inMibPerSecond, rounds, Samples } from './measure.ts'
import { inSandbox, recipeOf } from './sandbox-benches.ts'

const MIB = 1024 * 1024
const OUTPUT_MIB = 128
const FILE_MIB = 100
const FILE = '/root/bench'
const LINE = `${'a line of output that a program might write '.repeat(2).slice(0, 79)}\n`
const ANSWER_MS = 40_000
/** More bytes than the last event has. */
const TAIL_BYTES = 256

const keepAlive = new Agent({ keepAlive: true })

interface Body {
  readonly content: Buffer | Readable
  readonly bytes: number
  readonly type: 'application/json' | 'application/octet-stream'
}

/** Sends a request and leaves the body of the answer to the caller. Throws unless the status is 200. */
async function open(offshoot: Offshoot, method: string, path: string, body?: Body): Promise<IncomingMessage> {
  const { base_url, api_key } = offshoot.credentials
  const headers = {
    authorization: `Bearer ${api_key}`,
    ...(body && { 'content-type': body.type, 'content-length': body.bytes }),
  }
  const request = httpRequest(base_url + path, { method, headers, agent: keepAlive })
  const answered = once(request, 'response', { signal: AbortSignal.timeout(ANSWER_MS) }) as Promise<[IncomingMessage]>
  if (body?.content instanceof Readable) await Promise.all([pipeline(body.content, request), answered])
  else request.end(body?.content)
  const [response] = await answered
  if (response.statusCode !== 200) throw new Error(`${method} ${path} answered ${response.statusCode}`)
  return response
}

async function stream(offshoot: Offshoot, id: string, cmd: string): Promise<IncomingMessage> {
  const content = Buffer.from(JSON.stringify({ cmd }))
  return open(offshoot, 'POST', `/v1/sandboxes/${id}/exec/stream`, {
    content,
    bytes: content.length,
    type: 'application/json',
  })
}

/** `echo x` to its first event on a keep-alive connection. Floor: `exec` of `true` in the same sandbox. */
export async function streamFirstByte(offshoot: Offshoot, n = 200): Promise<Record<string, Figure>> {
  const [firstByte, exec] = [new Samples(), new Samples()]
  await inSandbox(offshoot, async (id) => {
    for (const _ of rounds(n)) {
      await exec.time(async () => offshoot.exec(id, 'true'))
      const rest = await firstByte.time(async () => {
        const response = await stream(offshoot, id, 'echo x')
        // Before the first byte, because the last byte may arrive with it.
        const ended = finished(response, { signal: AbortSignal.timeout(ANSWER_MS) })
        ended.catch(() => undefined)
        const [first] = (await once(response, 'data', { signal: AbortSignal.timeout(ANSWER_MS) })) as [Buffer]
        if (!first.toString().startsWith('event: stdout\n')) throw new Error(`began with ${first.toString()}`)
        return { ended }
      })
      await rest?.ended
    }
  })
  return { stream_first_byte: firstByte.figure('ms', exec.p50) }
}

async function countBytes(source: Readable): Promise<number> {
  let bytes = 0
  for await (const chunk of source as AsyncIterable<Buffer>) bytes += chunk.length
  return bytes
}

function expectBytes(bytes: number, mib: number): void {
  if (bytes !== mib * MIB) throw new Error(`${bytes} bytes came instead of ${mib} MiB`)
}

/** Makes a text of exactly so many MiB, in the guest's page cache as far as it fits. */
const makeFile = (mib: number) => `yes '${LINE.trimEnd()}' | head -c ${mib * MIB} > ${FILE}; cat ${FILE} > /dev/null`

async function baselineRun(link: GuestLink, cmd: string): Promise<number> {
  const child = await link.run({ argv: ['/bin/sh', '-c', cmd], stdin: 'none' })
  child.stderr.resume()
  const bytes = await countBytes(child.stdout)
  const { exitCode } = await child.exited
  if (exitCode !== 0) throw new Error(`${cmd} ended with ${exitCode}`)
  return bytes
}

/**
 * Checks that the stream ended with exit code 0 and contained the output, escaped and framed: 1.5 % more at {@link
 * LINE}.
 */
async function expectEvents(response: IncomingMessage, mib: number): Promise<void> {
  let bytes = 0
  let end: Buffer = Buffer.alloc(0)
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    end = Buffer.concat([end, chunk.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES)
  }
  if (!/event: exit\ndata: \{"exit_code":0,[^\n]+\n\n$/.test(end.toString('latin1')))
    throw new Error(`ended with ${end.toString()}`)
  if (bytes < mib * MIB * 1.01 || bytes > mib * MIB * 1.02) throw new Error(`${bytes} bytes of events for ${mib} MiB`)
}

/** A guest's `cat` of a large file to the client. Floor: the same over the baseline channel. */
export async function execThroughput(offshoot: Offshoot, n = 2): Promise<Record<string, Figure>> {
  const baseline = await BaselineVm.running(await recipeOf(offshoot))
  const [streamed, floor] = [new Samples(), new Samples()]
  try {
    await baselineRun(baseline.link, makeFile(OUTPUT_MIB))
    await inSandbox(offshoot, async (id) => {
      await offshoot.exec(id, makeFile(OUTPUT_MIB))
      for (const _ of rounds(n)) {
        await floor.time(async () => expectBytes(await baselineRun(baseline.link, `cat ${FILE}`), OUTPUT_MIB))
        await streamed.time(async () => {
          await expectEvents(await stream(offshoot, id, `cat ${FILE}`), OUTPUT_MIB)
        })
      }
    })
  } finally {
    await baseline.kill()
  }
  return { exec_throughput_mib_s: inMibPerSecond(streamed, OUTPUT_MIB, floor) }
}

const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() })
const block = Buffer.alloc(64 * 1024, LINE)
const content = () => Readable.from(Array.from({ length: (FILE_MIB * MIB) / block.length }, () => block))

/** A file to the guest and back. Floor: the same over the baseline channel. */
export async function fileThroughput(offshoot: Offshoot, n = 3): Promise<Record<string, Figure>> {
  const baseline = await BaselineVm.running(await recipeOf(offshoot))
  const { files } = baseline.link
  const [write, read, baselineWrite, baselineRead] = [new Samples(), new Samples(), new Samples(), new Samples()]
  try {
    await inSandbox(offshoot, async (id) => {
      const path = `/v1/sandboxes/${id}/fs?path=${FILE}`
      for (const _ of rounds(n)) {
        const deadline = Deadline.after(ANSWER_MS, 'floor of files')
        await baselineWrite.time(async () => expectBytes(await files.write(FILE, content(), { deadline }), FILE_MIB))
        await baselineRead.time(async () => expectBytes(await countBytes((await files.read(FILE)).stream), FILE_MIB))
        await write.time(async () => {
          const answer = await open(offshoot, 'PUT', path, {
            content: content(),
            bytes: FILE_MIB * MIB,
            type: 'application/octet-stream',
          })
          await pipeline(answer, nowhere())
        })
        await read.time(async () => expectBytes(await countBytes(await open(offshoot, 'GET', path)), FILE_MIB))
      }
    })
  } finally {
    await baseline.kill()
  }
  return {
    fs_write_100mib: inMibPerSecond(write, FILE_MIB, baselineWrite),
    fs_read_100mib: inMibPerSecond(read, FILE_MIB, baselineRead),
  }
}
