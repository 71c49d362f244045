import { call } from '../tests/setup/http.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { firstOutput, ownStream, type StreamRequest } from './first-output.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const TEMPLATE = 'base'
const ENVD_PORT = '49983'
const TIMEOUT_SECONDS = 300
/** The account that E2B's clients use. */
const USER = 'user'
const WORD = 'hello'
/** The same program in both protocols. */
const ARGV = ['/bin/echo', WORD] as const

/** The fields of E2B's answer to a create that lead to the inside of the sandbox. */
interface Made {
  readonly sandboxID: string
  readonly envdAccessToken: string
}

/**
 * From E2B's create to the first output of a process that E2B's protocol starts. Floor: the same create and the same
 * command through our own API. Alternately.
 */
export async function e2bFirstOutput(offshoot: Offshoot, n = 60): Promise<Record<string, Figure>> {
  const [gateway, own] = [new Samples(), new Samples()]
  for (const _round of rounds(n)) {
    const made = await gateway.time(async () => {
      const each = await create(offshoot)
      return { id: uuidOf(each.sandboxID), ...(await firstOutput(start(offshoot, each), base64(`${WORD}\n`))) }
    })
    await made?.rest()
    if (made) await offshoot.delete(made.id)
    const ours = await own.time(async () => {
      const { id } = await offshoot.create({ template: TEMPLATE, ttl_seconds: TIMEOUT_SECONDS })
      const request = ownStream(offshoot, `/v1/sandboxes/${id}/exec/stream`, { argv: ARGV, user: USER })
      return { id, ...(await firstOutput(request, 'event: stdout\n')) }
    })
    await ours?.rest()
    if (ours) await offshoot.delete(ours.id)
  }
  return { e2b_create_to_first_output: gateway.figure('ms', own.p50) }
}

async function create({ credentials }: Offshoot): Promise<Made> {
  const { status, body, text } = await call('POST', `${credentials.e2b_api_url}/v2/sandboxes`, {
    headers: { 'x-api-key': credentials.e2b_api_key },
    body: { templateID: TEMPLATE, timeout: TIMEOUT_SECONDS },
  })
  if (status !== 201) throw new Error(`create answered ${status}: ${text}`)
  return body as Made
}

/** `process.Process/Start` of the Connect protocol, with JSON messages. */
function start({ credentials }: Offshoot, { sandboxID, envdAccessToken }: Made): StreamRequest {
  const [cmd, ...args] = ARGV
  return {
    url: `${credentials.e2b_sandbox_url}/process.Process/Start`,
    headers: {
      'content-type': 'application/connect+json',
      'connect-protocol-version': '1',
      authorization: `Basic ${base64(`${USER}:`)}`,
      'x-access-token': envdAccessToken,
      'e2b-sandbox-id': sandboxID,
      'e2b-sandbox-port': ENVD_PORT,
    },
    body: enveloped({ process: { cmd, args }, stdin: false }),
  }
}

/** A message of a Connect stream: no flags, the length in four bytes, and the JSON. */
function enveloped(message: object): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(json.length, 1)
  return Buffer.concat([head, json])
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** E2B's ids are ours without the hyphens. */
const uuidOf = (id: string) => id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
