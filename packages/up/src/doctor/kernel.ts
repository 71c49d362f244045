/** Features of the kernel, each tried by itself. `guest.ts` tries all of them together. */
import { constants } from 'node:fs'
import { access, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canAccess } from '../base/can-access.ts'
import { type Finding, ok, problem, type Subject, warning } from './finding.ts'
import { hasProgram } from '../base/has-program.ts'
import { lastLine, runQuietly } from './run-quietly.ts'

const CGROUPS = '/sys/fs/cgroup'
const CONTROLLERS = ['cpu', 'memory', 'pids']
const TUN = '/dev/net/tun'
const KVM = '/dev/kvm'
const NO_ROOT = 'Offshoot uses it only as root'

export async function checkKvm({ args }: Subject): Promise<Finding> {
  const refusal = await open(KVM, constants.O_RDWR).then(
    async (file) => {
      await file.close()
      return null
    },
    ({ code }: NodeJS.ErrnoException) =>
      code === 'ENOENT' ? `there is no ${KVM}` : `${KVM} cannot be opened (${code})`,
  )
  if (args.accelerator === 'tcg') return ok('kvm', 'software emulation was asked for')
  if (refusal === null) return ok('kvm', `${KVM} can be opened`)
  const remedy =
    'Enable virtualization in the firmware, or nested virtualization at your provider, and load kvm_intel or kvm_amd'
  if (args.accelerator === 'kvm') return problem('kvm', `${refusal}, and --accelerator kvm was asked for`, remedy)
  return warning('kvm', `${refusal}: VMs run under software emulation, 10 to 20 times slower`, remedy)
}

export async function checkCgroups({ isRoot }: Subject): Promise<Finding> {
  if (!isRoot) return warning('cgroups', 'memory, CPU time and processes of VMs are not limited', NO_ROOT)
  const unified = await readFile(join(CGROUPS, 'cgroup.controllers'), 'utf8').catch(() => null)
  const there = unified?.trim().split(' ') ?? (await controllersOfVersion1())
  const missing = CONTROLLERS.filter((name) => !there.includes(name))
  const isWritable = await canAccess(unified === null ? join(CGROUPS, 'memory') : CGROUPS, constants.W_OK)
  if (missing.length === 0 && isWritable) return ok('cgroups', `version ${unified === null ? 1 : 2}`)
  const finding = missing.length > 0 ? `controllers are missing: ${missing.join(', ')}` : `${CGROUPS} is read-only`
  return warning(
    'cgroups',
    `${finding}, so VMs are not limited`,
    'Give a container its own writable cgroups, or use the host',
  )
}

async function controllersOfVersion1(): Promise<string[]> {
  const there = await Promise.all(CONTROLLERS.map((name) => canAccess(join(CGROUPS, name))))
  return CONTROLLERS.filter((_name, at) => there[at])
}

export async function checkNftables({ isRoot, stop }: Subject): Promise<Finding> {
  const install = 'apt-get install -y nftables'
  if (!(await hasProgram('nft'))) return problem('nftables', 'nft is not in PATH', install)
  if (!isRoot) return ok('nftables', 'nft is installed; only root can try it')
  const listed = await runQuietly(['nft', 'list', 'tables'], stop)
  if (!(listed instanceof Error)) return ok('nftables', 'the kernel has nftables')
  return warning(
    'nftables',
    `nft does not work, so sandboxes have no network: ${lastLine(listed)}`,
    'Load the kernel module nf_tables, or give the container NET_ADMIN',
  )
}

/** Without root, `checkUser` tries them. */
export async function checkNamespaces({ isRoot, stop }: Subject): Promise<readonly Finding[]> {
  if (!isRoot) return []
  const made = await runQuietly(['unshare', '--mount', '--net', '--pid', '--ipc', '--uts', '--fork', 'true'], stop)
  if (!(made instanceof Error)) return [ok('namespaces', 'VMs can have jails')]
  return [
    warning(
      'namespaces',
      `this host allows no namespaces, so VMs have no jail: ${lastLine(made)}`,
      'Give the container SYS_ADMIN, or use the host',
    ),
  ]
}

export async function checkTun({ isRoot }: Subject): Promise<Finding | readonly Finding[]> {
  if (!isRoot) return []
  const refusal = await access(TUN, constants.R_OK | constants.W_OK).then(
    () => null,
    ({ code }: NodeJS.ErrnoException) => code,
  )
  if (refusal === null) return ok('tun', `${TUN} can be opened`)
  if (refusal === 'ENOENT') return warning('tun', `there is no ${TUN}, so sandboxes have no network`, 'modprobe tun')
  return warning('tun', `${TUN} cannot be opened (${refusal}), so sandboxes have no network`, `chmod 666 ${TUN}`)
}
