import type { FleetAuthorityState } from '@offshoot/contract/fleet-authority'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cli } from '../frame/cli.ts'
import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { Progress } from '../frame/progress.ts'
import { showAuthority } from './authority.ts'

interface Options {
  readonly wait?: boolean
}

/** Milliseconds between two looks. */
const LOOK_MS = 1_000

export const run: Action<Options> = async (cli, { options }) => {
  const begun = await operatorApi(cli).request('POST /v1/admin/hosts/authority/rotate', { signal: cli.signal })
  showAuthority(cli, options, options.wait === true ? await untilOver(cli, begun) : begun)
}

/** Also until nobody uses a certificate of an earlier step. */
async function untilOver(cli: Cli, begun: FleetAuthorityState): Promise<FleetAuthorityState> {
  const api = operatorApi(cli)
  const progress = new Progress(cli, textOf(begun))
  try {
    let state = begun
    while (state.step !== 'settled' || state.waiting > 0) {
      await delay(LOOK_MS, undefined, { signal: cli.signal })
      state = await api.request('GET /v1/admin/hosts/authority', { signal: cli.signal })
      progress.say(textOf(state))
    }
    return state
  } finally {
    progress[Symbol.dispose]()
  }
}

function textOf({ step, waiting }: FleetAuthorityState): string {
  return `${step}: waits for ${waiting}`
}
