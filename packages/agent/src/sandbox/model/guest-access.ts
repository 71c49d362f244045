import { constants } from 'node:os'
import { ApiError } from '@offshoot/contract/errors'
import { argvOf, type ExecBody } from '@offshoot/contract/exec'
import type { GuestCommand } from '@offshoot/guest-link/guest-command'
import {
  GuestLinkLost,
  GuestUnavailable,
  GuestRequestError,
  GuestRunError,
} from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Sandbox } from './sandbox.ts'

/** Milliseconds for a guest to answer a new connection, and a request that runs no command. */
const LINK_MS = 30_000
/** Attempts, because the sandbox may be paused or hibernated again between its wake and the request. */
const MAX_TRIES = 5
/** Maximum milliseconds between the loss of a channel and the end of the QEMU that caused it. */
const END_MS = 500
/** Without it, a caller would take the refusal for one of something that has not begun, and repeat it. */
export const HIBERNATED_MEANWHILE = 'the sandbox was hibernated during the request, which may have begun'

/**
 * The VM of a running sandbox. Wakes a hibernated one, once for all concurrent callers.
 * @throws ApiError 404 not running, 409 paused, 507 no room to wake it
 */
export async function runningVm(sandbox: Sandbox): Promise<Vm> {
  for (;;) {
    // Wait for the end of a pause or hibernation before reading the state.
    await sandbox.stopping
    if (sandbox.manifest.status !== 'hibernated') return awakeVm(sandbox)
    await sandbox.wake()
  }
}

/** Like {@link runningVm}, but does not wake a sandbox. @throws ApiError 404, 409 paused or hibernated */
function awakeVm({ manifest: { status }, vm }: Sandbox): Vm {
  if (status === 'paused' || status === 'hibernated') throw new ApiError('sandboxStopped')
  if (vm === null || vm.hasEnded || status !== 'running') throw new ApiError('sandboxNotRunning')
  return vm
}

export function guestDeadline(what: string): Deadline {
  return Deadline.after(LINK_MS, what)
}

/** Sends a request to the guest of a sandbox, which it wakes if necessary. @throws ApiError for every failure of the guest */
export function withGuest<T>(sandbox: Sandbox, ask: (link: GuestLink) => Promise<T>): Promise<T> {
  return askGuest(sandbox, runningVm, ask)
}

/** Sends a request to a guest without waking it. @throws ApiError as {@link withGuest}, 409 also if it is hibernated */
export function withAwakeGuest<T>(sandbox: Sandbox, ask: (link: GuestLink) => Promise<T>): Promise<T> {
  return askGuest(sandbox, awakeVm, ask)
}

/** Retries a request that a pause or hibernation refused before any of it was sent. */
async function askGuest<T>(
  sandbox: Sandbox,
  vmOf: (sandbox: Sandbox) => Promise<Vm> | Vm,
  ask: (link: GuestLink) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const vm = await vmOf(sandbox)
    try {
      return await ask(await vm.link(guestDeadline(`answer of ${sandbox.id}`)))
    } catch (error) {
      if (!(error instanceof GuestUnavailable) || tries === MAX_TRIES) throw await explainGuestError(error, sandbox, vm)
      await sandbox.stopping
    }
  }
}

export function guestCommand(sandbox: Pick<Sandbox, 'manifest'>, body: ExecBody): GuestCommand {
  return { argv: argvOf(body), ...accountOf(withTemplateDefaults(sandbox, body)) }
}

type Account = Pick<ExecBody, 'cwd' | 'user'> & Partial<Pick<ExecBody, 'env'>>

/** Fills in the template's user and folder. A request with another user does not get the folder of the template's user. */
export function withTemplateDefaults<T extends Account>(
  { manifest: { run_as } }: Pick<Sandbox, 'manifest'>,
  asked: T,
): T {
  return {
    ...asked,
    user: asked.user ?? run_as.user,
    cwd: asked.cwd ?? (asked.user === undefined ? run_as.cwd : undefined),
  }
}

/** The optional settings of a guest command. */
export function accountOf({ cwd, env, user }: Account) {
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(user === undefined ? {} : { user }),
  }
}

/** Translates a failure of a guest into the error for the caller of the API. */
async function explainGuestError(error: unknown, sandbox: Sandbox, vm: Vm): Promise<unknown> {
  if (error instanceof GuestRunError) {
    const { EAGAIN, ENOMEM } = constants.errno
    if (error.errno === EAGAIN || error.errno === ENOMEM)
      return new ApiError('tooManyCommands', { detail: error.message })
    return new ApiError('invalidField', { error: error.message }, { cause: error })
  }
  if (error instanceof GuestRequestError && error.errno === constants.errno.ENOENT) return new ApiError('notFound')
  if (error instanceof GuestLinkLost && (await endsSoon(vm))) {
    await sandbox.stopping
    if (sandbox.manifest.status !== 'hibernated') return new ApiError('sandboxNotRunning', {}, { cause: error })
    return new ApiError('sandboxStopped', { detail: HIBERNATED_MEANWHILE }, { cause: error })
  }
  if (error instanceof GuestUnavailable) return new ApiError('sandboxStopped', {}, { cause: error })
  if (error instanceof DeadlineExceeded || error instanceof GuestLinkLost) {
    return new ApiError('internal', { error: 'the guest does not answer' }, { cause: error })
  }
  return error
}

/** Why the channel to a guest was lost, for callers whose command or stream ended with it. */
export function notRunningReason({ manifest }: Sandbox): string {
  return manifest.status === 'hibernated' ? 'the sandbox was hibernated' : 'the guest is gone'
}

/** Whether the VM ends within a moment. When QEMU dies, its channel closes before the agent learns of its end. */
export async function endsSoon(vm: Vm): Promise<boolean> {
  return Deadline.after(END_MS, 'end of the VM')
    .race(vm.ended)
    .then(
      () => true,
      () => false,
    )
}
