import type { FleetAuthorityState } from '@offshoot/contract/fleet-authority'
import type { Cli } from '../frame/cli.ts'
import type { Action, Common } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'

export const run: Action = async (cli, { options }) => {
  const state = await operatorApi(cli).request('GET /v1/admin/hosts/authority', { signal: cli.signal })
  showAuthority(cli, options, state)
}

export function showAuthority({ out }: Cli, { json }: Common, state: FleetAuthorityState): void {
  if (json) return out.json(state)
  const { step, version, current, other, waiting, waits_for: waitsFor } = state
  out.pairs([
    ['step', out.style(step === 'settled' ? 'green' : 'yellow', step)],
    ['version', String(version)],
    ['authority', current?.sha256 ?? 'none: no host has joined'],
    ['expires', current?.expires_at ?? null],
    [step === 'introducing' ? 'new one' : 'old one', other?.sha256 ?? null],
    ['waits for', waiting === 0 ? null : String(waiting)],
  ])
  if (waiting === 0) return
  out.line('')
  const rows = waitsFor.map(({ kind, id, is_lost: isLost }) => [kind, id, isLost ? out.style('red', 'lost') : ''])
  out.table(['WAITS FOR', 'ID', ''], rows, '')
  if (waiting > waitsFor.length) out.note(`and ${waiting - waitsFor.length} more`)
}
