import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { WebSocket } from 'ws'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { SshClient } from '../tests/setup/ssh-client.ts'
import { type Figure, inMibPerSecond, rounds, Samples } from './measure.ts'
import { inSandbox } from './sandbox-benches.ts'

const MIB = 1024 * 1024
const OUTPUT_MIB = 64
const ANSWER_MS = 60_000
/** The end of a login shell's prompt. */
export const PROMPT = /[#$] $/
const FILE = '/root/bench'

/** A client whose key opens a sandbox. */
async function inSandboxBySsh<T>(offshoot: Offshoot, use: (id: string, client: SshClient) => Promise<T>): Promise<T> {
  return inSandbox(offshoot, async (id) => {
    const client = await SshClient.make(offshoot, id)
    const headers = { authorization: `Bearer ${offshoot.credentials.jwt}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ public_key: await readFile(client.file('id.pub'), 'utf8') })
    const { body: key } = await offshoot.request('POST', '/v1/me/ssh-keys', { headers, body })
    try {
      return await use(id, client)
    } finally {
      await offshoot.request('DELETE', `/v1/me/ssh-keys/${(key as { id: string }).id}`, { headers })
      await client.remove()
    }
  })
}

/** From the start of `ssh` to the prompt of a login shell. Floor: the same on `exec/pty`, with a connection of its own. */
export async function sshFirstPrompt(offshoot: Offshoot, n = 40): Promise<Record<string, Figure>> {
  const [ssh, terminal] = [new Samples(), new Samples()]
  await inSandboxBySsh(offshoot, async (id, client) => {
    for (const _ of rounds(n)) {
      await ssh.time(() => promptOfSsh(client))
      await terminal.time(() => promptOfTerminal(offshoot, id))
    }
  })
  return { ssh_first_prompt_ms: ssh.figure('ms', terminal.p50) }
}

async function promptOfSsh(client: SshClient): Promise<void> {
  const child = client.follow('-tt', 'gw')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let shown = ''
  child.stdout?.on('data', (bytes: Buffer) => {
    shown += bytes.toString()
    if (PROMPT.test(shown)) resolve()
  })
  child.once('close', () => reject(new Error(`ssh ended: ${shown}`)))
  await promise
  child.kill('SIGKILL')
}

/** Waits for the prompt of a login shell on `exec/pty`. */
export async function promptOfTerminal({ credentials }: Offshoot, id: string): Promise<void> {
  const url = `${credentials.base_url.replace('http', 'ws')}/v1/sandboxes/${id}/exec/pty`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${credentials.api_key}` } })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let shown = ''
  // Two messages may arrive at once, so one `once` after the other would miss some.
  socket.on('message', (bytes: Buffer) => {
    shown += bytes.toString()
    if (PROMPT.test(shown)) resolve()
  })
  socket.once('close', () => reject(new Error(`the terminal ended: ${shown}`)))
  const timer = setTimeout(() => reject(new Error(`no prompt: ${shown}`)), ANSWER_MS)
  await promise.finally(() => {
    clearTimeout(timer)
    socket.terminate()
  })
}

/** A guest's `cat` of a large file by `ssh`, with a connection of its own. Floor: the same by `exec/stream`. */
export async function sshThroughput(offshoot: Offshoot, n = 3): Promise<Record<string, Figure>> {
  const [ssh, channel] = [new Samples(), new Samples()]
  await inSandboxBySsh(offshoot, async (id, client) => {
    await offshoot.exec(id, `head -c ${OUTPUT_MIB * MIB} /dev/zero | tr '\\0' x > ${FILE}; cat ${FILE} > /dev/null`)
    for (const _ of rounds(n)) {
      await ssh.time(async () => {
        const child = client.follow('gw', `cat ${FILE}`)
        let bytes = 0
        child.stdout?.on('data', (chunk: Buffer) => (bytes += chunk.length))
        await once(child, 'close')
        if (bytes !== OUTPUT_MIB * MIB) throw new Error(`${bytes} bytes came`)
      })
      await channel.time(async () => {
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify({ cmd: `cat ${FILE}` })
        const { status } = await offshoot.request('POST', `/v1/sandboxes/${id}/exec/stream`, { headers, body })
        if (status !== 200) throw new Error(`exec/stream answered ${status}`)
      })
    }
  })
  return { ssh_throughput_mib_s: inMibPerSecond(ssh, OUTPUT_MIB, channel) }
}
