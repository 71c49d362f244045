import { constants } from 'node:os'
import { ApiError } from '@offshoot/contract/errors'
import type { ExecBody } from '@offshoot/contract/exec'
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

/** Milliseconds in which a guest must answer a new connection, and a question that runs nothing. */
const LINK_MS = 30_000
/** How often a sandbox may be put to rest again just before what it was woken for, until that is given up. */
const MAX_TRIES = 5
/** Milliseconds between the loss of a channel and the end of its QEMU, where that is the reason. */
const END_MS = 500

/**
 * The VM of a sandbox that runs: the one place where a hibernated one is woken, once for all who come.
 * @throws ApiError 404 not running, 409 paused, 507 no room to wake it
 */
export async function runningVm(sandbox: Sandbox): Promise<Vm> {
  for (;;) {
    // What comes while it is being stopped waits for what becomes of that.
    await sandbox.stopping
    if (sandbox.manifest.status !== 'hibernated') return awakeVm(sandbox)
    await sandbox.wake()
  }
}

/** The same for what is no reason to wake a sandbox. @throws ApiError 404, 409 paused or hibernated */
function awakeVm({ manifest: { status }, vm }: Sandbox): Vm {
  if (status === 'paused' || status === 'hibernated') throw new ApiError('sandboxStopped')
  if (vm === null || vm.hasEnded || status !== 'running') throw new ApiError('sandboxNotRunning')
  return vm
}

export function guestDeadline(what: string): Deadline {
  return Deadline.after(LINK_MS, what)
}

/** Asks the guest of a sandbox, which is woken for it. @throws ApiError for whatever goes wrong */
export function withGuest<T>(sandbox: Sandbox, ask: (link: GuestLink) => Promise<T>): Promise<T> {
  return askGuest(sandbox, runningVm, ask)
}

/** Asks the guest of a sandbox that is awake. @throws ApiError as {@link withGuest}, 409 also when it is hibernated */
export function withAwakeGuest<T>(sandbox: Sandbox, ask: (link: GuestLink) => Promise<T>): Promise<T> {
  return askGuest(sandbox, awakeVm, ask)
}

/** What a pause or a hibernation turned away before anything of it was sent is asked again, of what became of the sandbox. */
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

export function shellCommand(sandbox: Pick<Sandbox, 'manifest'>, body: ExecBody): GuestCommand {
  return { argv: ['/bin/sh', '-c', body.cmd], ...accountOf(asTemplateHas(sandbox, body)) }
}

type Account = Pick<ExecBody, 'cwd' | 'user'> & Partial<Pick<ExecBody, 'env'>>

/** As its template has it, where it says nothing itself. Who asks for another user does not mean the template's folder. */
export function asTemplateHas<T extends Account>({ manifest: { run_as } }: Pick<Sandbox, 'manifest'>, asked: T): T {
  return {
    ...asked,
    user: asked.user ?? run_as.user,
    cwd: asked.cwd ?? (asked.user === undefined ? run_as.cwd : undefined),
  }
}

/** What a command may be given beside its program. */
export function accountOf({ cwd, env, user }: Account) {
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(user === undefined ? {} : { user }),
  }
}

/** What went wrong with a guest, as callers are told. */
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
    const isHibernated = sandbox.manifest.status === 'hibernated'
    return new ApiError(isHibernated ? 'sandboxStopped' : 'sandboxNotRunning', {}, { cause: error })
  }
  if (error instanceof GuestUnavailable) return new ApiError('sandboxStopped', {}, { cause: error })
  if (error instanceof DeadlineExceeded || error instanceof GuestLinkLost) {
    return new ApiError('internal', { error: 'the guest does not answer' }, { cause: error })
  }
  return error
}

/** Why the channel to a guest was lost, for those whose command or stream ended with it. */
export function whyGone({ manifest }: Sandbox): string {
  return manifest.status === 'hibernated' ? 'the sandbox was hibernated' : 'the guest is gone'
}

/** A QEMU that dies takes the guest's channel with it a moment before its own end is known. */
export async function endsSoon(vm: Vm): Promise<boolean> {
  return Deadline.after(END_MS, 'end of the VM')
    .race(vm.ended)
    .then(
      () => true,
      () => false,
    )
}
