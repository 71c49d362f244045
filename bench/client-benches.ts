import type { Offshoot } from '../tests/setup/offshoot.ts'
import { BaselineVm } from './baseline-vm.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { recipeOf } from './sandbox-benches.ts'

const TEMPLATE = 'base'
/** Sandboxes of each kind of `node -v`, as in ComputeSDK's benchmark. */
const SANDBOXES = 100
/** Milliseconds between two starts of the staggered ones. */
const STAGGER_MS = 200
const ENVD_PORT = 49_983
const CONNECT_HEADER_BYTES = 5
type Figures = Record<string, Figure>

/** Reads an answer until its text contains what is wanted, and hangs up. */
export async function readUntil(answer: Response, wanted: string): Promise<void> {
  if (!answer.ok || answer.body === null) throw new Error(`${answer.status}: ${await answer.text()}`)
  let seen = ''
  for await (const chunk of answer.body) {
    seen += Buffer.from(chunk).toString()
    if (seen.includes(wanted)) return
  }
  throw new Error(`no ${wanted} in ${seen.slice(0, 500)}`)
}

const post = (url: string, headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })

/** The first output of a command in a sandbox that exists. */
async function firstOutput({ credentials }: Offshoot, id: string, command: object): Promise<void> {
  const url = `${credentials.base_url}/v1/sandboxes/${id}/exec/stream`
  const headers = { authorization: `Bearer ${credentials.api_key}` }
  await readUntil(await post(url, headers, JSON.stringify(command)), 'event: stdout')
}

async function createByE2b({ credentials: made }: Offshoot): Promise<{ sandboxID: string; envdAccessToken: string }> {
  const body = JSON.stringify({ templateID: TEMPLATE, timeout: 300 })
  const answer = await post(`${made.e2b_api_url}/v2/sandboxes`, { 'x-api-key': made.e2b_api_key }, body)
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as { sandboxID: string; envdAccessToken: string }
}

async function firstOutputByE2b(
  { credentials }: Offshoot,
  { sandboxID, envdAccessToken }: { sandboxID: string; envdAccessToken: string },
  argv: readonly string[],
): Promise<void> {
  const [cmd, ...args] = argv
  const message = Buffer.from(JSON.stringify({ process: { cmd, args, envs: {} }, stdin: false }))
  const header = Buffer.alloc(CONNECT_HEADER_BYTES)
  header.writeUInt32BE(message.length, 1)
  const headers = {
    'content-type': 'application/connect+json',
    'connect-protocol-version': '1',
    'e2b-sandbox-id': sandboxID,
    'e2b-sandbox-port': String(ENVD_PORT),
    'x-access-token': envdAccessToken,
  }
  const url = `${credentials.e2b_sandbox_url}/process.Process/Start`
  await readUntil(await post(url, headers, Buffer.concat([header, message])), '"stdout"')
}

/** From the request for a sandbox to the first output of a command, as E2B's clients do it. Floor: our own API. */
export async function e2bFirstOutput(offshoot: Offshoot, n = 60): Promise<Figures> {
  const argv = ['/bin/bash', '-l', '-c', 'echo hi']
  const [ours, theirs] = [new Samples(), new Samples()]
  for (const _ of rounds(n)) {
    const own = await ours.time(async () => {
      const made = await offshoot.create({ template: TEMPLATE })
      await firstOutput(offshoot, made.id, { argv, user: 'user' })
      return made
    })
    if (own) await offshoot.delete(own.id)
    const byClient = await theirs.time(async () => {
      const made = await createByE2b(offshoot)
      await firstOutputByE2b(offshoot, made, argv)
      return made
    })
    if (byClient) {
      const headers = { 'x-api-key': offshoot.credentials.e2b_api_key }
      await fetch(`${offshoot.credentials.e2b_api_url}/sandboxes/${byClient.sandboxID}`, { method: 'DELETE', headers })
    }
  }
  return { e2b_create_to_first_output: theirs.figure('ms', ours.p50) }
}

async function nodeVersion(offshoot: Offshoot, samples: Samples): Promise<void> {
  const made = await samples.time(async () => {
    const sandbox = await offshoot.create({ template: TEMPLATE })
    await firstOutput(offshoot, sandbox.id, { cmd: 'node -v' })
    return sandbox
  })
  if (made) await offshoot.delete(made.id)
}

async function nodeVersionByHand(recipe: Parameters<typeof BaselineVm.restore>[0], samples: Samples): Promise<void> {
  const vm = await samples.time(async () => {
    const restored = await BaselineVm.restore(recipe)
    const { stdout } = await restored.link.run({ argv: ['node', '-v'] })
    for await (const _ of stdout) break
    return restored
  })
  await vm?.kill()
}

/**
 * From the request for a sandbox to the first output of `node -v`: one after the other, one every 200 ms, and all at
 * once. Floor: one after the other by hand.
 */
export async function nodeV(offshoot: Offshoot, n = SANDBOXES): Promise<Figures> {
  const recipe = await recipeOf(offshoot)
  const [sequential, staggered, burst, byHand] = [new Samples(), new Samples(), new Samples(), new Samples()]
  for (const _ of rounds(n, 120_000)) {
    await nodeVersion(offshoot, sequential)
    await nodeVersionByHand(recipe, byHand)
  }
  const all = Array.from({ length: n })
  await Promise.all(
    all.map(async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * STAGGER_MS))
      await nodeVersion(offshoot, staggered)
    }),
  )
  const wall = new Samples()
  await wall.time(async () => Promise.all(all.map(async () => nodeVersion(offshoot, burst))))
  return {
    node_v: sequential.figure('ms', byHand.p50),
    node_v_staggered: staggered.figure('ms', byHand.p50),
    node_v_burst: burst.figure('ms', byHand.p50),
    node_v_burst_wall: { ...wall.figure('ms'), success: burst.values.length / n },
  }
}

/** A call of a tool that lists templates. Floor: the same list from the API. Alternately. */
export async function mcpCall(offshoot: Offshoot, n = 300): Promise<Figures> {
  const { base_url: url, api_key: key } = offshoot.credentials
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' }
  const params = { name: 'list_templates', arguments: {} }
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const [call, list] = [new Samples(), new Samples()]
  for (const _ of rounds(n)) {
    await call.time(async () => readUntil(await post(`${url}/mcp`, headers, message), '"structuredContent"'))
    await list.time(async () => (await fetch(`${url}/v1/templates`, { headers })).json())
  }
  return { mcp_call: call.figure('ms', list.p50) }
}
