import type { Action } from '../frame/command.ts'
import { operatorApi } from '../frame/credential.ts'
import { UsageError } from '../frame/failure.ts'
import { confirmLoss } from '../frame/questions.ts'
import type { Agreement } from '../frame/remove.ts'
import { showAuthority } from './authority.ts'

interface Options extends Agreement {
  readonly reason?: string
}

export const run: Action<Options> = async (cli, { options }) => {
  const { reason, yes = false } = options
  if (reason === undefined) throw new UsageError('say why with --reason')
  await confirmLoss(cli, 'hosts that the replacement waits for may have to join again', yes)
  const body = { reason }
  const api = operatorApi(cli)
  const state = await api.request('POST /v1/admin/hosts/authority/advance', { body, signal: cli.signal })
  showAuthority(cli, options, state)
}
