import type { HostDetail } from '@offshoot/contract/host'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { Progress } from '../frame/progress.ts'
import { showHost } from './show.ts'

interface Options {
  readonly wait?: boolean
}

/** Milliseconds between two looks. */
const LOOK_MS = 1_000
/** Exit code if something stays on the host. */
const SOMETHING_STAYS = 1

export const run: Action<Options> = async (cli, line) => {
  const api = operatorApi(cli)
  const path = { id: operand(line, 0) }
  const begun = await api.request('POST /v1/admin/hosts/{id}/drain', { path, signal: cli.signal })
  const host = line.options.wait === true ? await untilOver(cli, begun) : begun
  showHost(cli, line.options, host)
  return line.options.wait === true && (host.drain === null || host.drain.staying > 0) ? SOMETHING_STAYS : 0
}

/** @returns the host when everything was tried, or somebody has uncordoned it */
async function untilOver(cli: Cli, begun: HostDetail): Promise<HostDetail> {
  const api = operatorApi(cli)
  const progress = new Progress(cli, textOf(begun))
  try {
    let host = begun
    while (host.drain !== null && host.drain.ended_at === null) {
      await delay(LOOK_MS, undefined, { signal: cli.signal })
      host = await api.request('GET /v1/admin/hosts/{id}', { path: { id: begun.id }, signal: cli.signal })
      progress.say(textOf(host))
    }
    return host
  } finally {
    progress[Symbol.dispose]()
  }
}

function textOf({ drain }: HostDetail): string {
  return drain === null ? 'draining' : `draining: ${drain.moved} moved, ${drain.left} left, ${drain.failed} failed`
}
