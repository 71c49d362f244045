import { resolve } from 'node:path'
import { parseEgressException } from '@offshoot/contract/egress-exception'
import { type PlanName, planName } from '@offshoot/contract/plan'
import {
  type AcceleratorChoice,
  acceleratorChoice,
  DEFAULT_GUEST_RANGE,
  guestRange,
  kvmSettings,
} from '@offshoot/contract/process-config'
import type { z } from 'zod'
import {
  DOMAIN,
  type E2bDomain,
  parseDirectory,
  parseE2bDomain,
  parseSshAddress,
  parseTls,
  type SshAddress,
  type TlsArguments,
} from './addresses.ts'
import { type Flags, parseFlags } from './flags.ts'
import { type JoinArguments, parseJoin } from './join-arguments.ts'
import { UsageError } from './usage-error.ts'

export interface UpArguments {
  readonly command: 'up' | 'prepare' | 'down' | 'doctor' | 'sign-in-link' | 'help'
  /** Absolute path. */
  readonly dataDir: string
  /** Whether the user passed `--data-dir`. If so, `--prepare` prepares that directory too. */
  readonly isDataDirNamed: boolean
  /** Absolute path. */
  readonly imagesDir: string
  /** 0: any free port. */
  readonly port: number
  /** 0: any free port. `null`: the default port if it is free. */
  readonly edgePort: number | null
  /** 0: any free port. `null`: the default port if it is free. */
  readonly databasePort: number | null
  /** 0: any free port. `null`: the default port if it is free. */
  readonly e2bPort: number | null
  /** 0: any free port. `null`: the default port if it is free. */
  readonly sshPort: number | null
  /** `null`: users reach the gateway at this machine's own address. */
  readonly sshAddress: SshAddress | null
  /** The domain of the E2B gateway, if it is not `e2b.` and the preview suffix. */
  readonly e2bDomain: E2bDomain | null
  /** A domain in lower case; `null` for none. */
  readonly databaseSuffix: string | null
  readonly preview: PreviewSettings
  /** Serves the API with TLS under this name; `null`: as `settings.json` says. */
  readonly tls: TlsArguments | null
  /** Joins the fleet of another machine; `null`: runs a whole service, or the host that has joined before. */
  readonly join: JoinArguments | null
  readonly isYes: boolean
  /** For `doctor`: prints JSON. */
  readonly isJson: boolean
  /** Names of the templates to offer; `null`: all. */
  readonly templates: readonly string[] | null
  /** Maximum bytes of an upload into a sandbox; `null`: the agent's default. */
  readonly maxUploadBytes: number | null
  /** MiB of guest memory in the warm pool; `null`: the agent's default. */
  readonly poolMemoryMib: number | null
  /** Whether VMs of the pool may be copies of a warm one; `null`: the agent's default. */
  readonly hasZygotes: boolean | null
  /** Maximum committed MiB of all VMs; `null`: the agent's default. */
  readonly commitLimitMib: number | null
  readonly disk: DiskSettings
  readonly network: NetworkSettings
  readonly accelerator: AcceleratorChoice
  readonly kvm: KvmSettings
  /** Limits of workspaces. Absent fields get control's defaults. */
  readonly limits: LimitSettings
}

/** Settings of preview addresses. */
export interface PreviewSettings {
  /** A domain in lower case. */
  readonly suffix: string
  /** Absolute paths of PEM files; `null`: the edge's local authority. */
  readonly certificate: { readonly cert: string; readonly key: string } | null
  /** Orders the certificate by ACME instead. `hook` is an absolute path. */
  readonly acme: { readonly directory_url: string; readonly hook: string; readonly email?: string } | null
}

/** Passed to the agent; `null` and absent fields get its defaults. */
export interface DiskSettings {
  readonly warn_below_mib: number | null
  readonly refuse_below_mib: number | null
  readonly compress_after_s?: number
}

/** Passed to the agent; absent fields get its defaults. */
export interface NetworkSettings {
  /** Each is a `CIDR:port`. */
  readonly egress_allow?: string[]
  readonly guest_range?: string
}

/** Passed to the agent, for guests under KVM; absent fields get its defaults. */
export type KvmSettings = z.input<typeof kvmSettings>

export interface LimitSettings {
  readonly rate_burst?: number
  readonly rate_per_second?: number
  readonly default_plan?: PlanName
}

/**
 * @param defaultDataDir absolute path, or relative to `cwd`
 * @throws {UsageError}
 */
export function parseArguments(
  argv: readonly string[],
  env: Readonly<NodeJS.ProcessEnv>,
  cwd: string,
  defaultDataDir = '.offshoot',
): UpArguments {
  const values = parseFlags(argv)
  const dataDir = folderOf('--data-dir', values['data-dir'], cwd) ?? resolve(cwd, defaultDataDir)
  return {
    command: commandOf(values),
    dataDir,
    isDataDirNamed: values['data-dir'] !== undefined,
    imagesDir: folderOf('--images-dir', values['images-dir'], cwd) ?? resolve(dataDir, 'images'),
    port: parsePortOf('--port', values.port ?? '8080'),
    edgePort: values['edge-port'] === undefined ? null : parsePortOf('--edge-port', values['edge-port']),
    databasePort:
      values['database-port'] === undefined ? null : parsePortOf('--database-port', values['database-port']),
    e2bPort: values['e2b-port'] === undefined ? null : parsePortOf('--e2b-port', values['e2b-port']),
    sshPort: values['ssh-port'] === undefined ? null : parsePortOf('--ssh-port', values['ssh-port']),
    sshAddress: parseSshAddress(env['OFFSHOOT_SSH_ADDRESS']),
    e2bDomain: parseE2bDomain(env['OFFSHOOT_E2B_DOMAIN']),
    databaseSuffix: parseDatabaseSuffix(env['OFFSHOOT_DATABASE_SUFFIX']),
    preview: parsePreview(env, cwd),
    tls: parseTls(env),
    join: parseJoin(values, env),
    isYes: values.yes ?? false,
    isJson: values.json ?? false,
    templates: parseTemplates(env['OFFSHOOT_TEMPLATES']),
    maxUploadBytes: parseMaxUpload(env),
    poolMemoryMib: parseMib(env, 'OFFSHOOT_POOL_MIB', 0),
    hasZygotes: parseSwitch(env, 'OFFSHOOT_ZYGOTES'),
    commitLimitMib: parseMib(env, 'OFFSHOOT_COMMIT_MIB', 1),
    disk: {
      warn_below_mib: parseMib(env, 'OFFSHOOT_DISK_WARN_MIB', 0),
      refuse_below_mib: parseMib(env, 'OFFSHOOT_DISK_REFUSE_MIB', 0),
      ...parseCompressAfter(env['OFFSHOOT_COMPRESS_AFTER_S']),
    },
    network: { ...parseEgressAllow(env['OFFSHOOT_EGRESS_ALLOW']), ...parseRange(env['OFFSHOOT_GUEST_RANGE']) },
    accelerator: parseAccelerator(values.accelerator),
    kvm: parseKvm(env),
    limits: { ...parseRate(env['OFFSHOOT_RATE_LIMIT']), ...parsePlan(env['OFFSHOOT_DEFAULT_PLAN']) },
  }
}

/** An empty value is probably an unset variable. It must not mean the current folder. */
function folderOf(flag: string, path: string | undefined, cwd: string): string | null {
  if (path === '') throw new UsageError(`${flag} must not be empty`)
  return path === undefined ? null : resolve(cwd, path)
}

function parsePortOf(flag: string, text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new UsageError(`${flag} must be a number from 0 to 65535, not "${text}"`)
  return Number(text)
}

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'

function parsePreview(env: Readonly<NodeJS.ProcessEnv>, cwd: string): PreviewSettings {
  const suffix = (env['OFFSHOOT_PREVIEW_SUFFIX'] || 'localhost').toLowerCase()
  if (!DOMAIN.test(suffix)) throw new UsageError(`OFFSHOOT_PREVIEW_SUFFIX must be a domain, not "${suffix}"`)
  const { OFFSHOOT_PREVIEW_CERT: cert, OFFSHOOT_PREVIEW_KEY: key } = env
  if (!cert && !key) return { suffix, certificate: null, acme: parseAcme(env, suffix, cwd) }
  if (!cert || !key) throw new UsageError('OFFSHOOT_PREVIEW_CERT and OFFSHOOT_PREVIEW_KEY go together')
  if (env['OFFSHOOT_PREVIEW_ACME_HOOK'])
    throw new UsageError('OFFSHOOT_PREVIEW_CERT and OFFSHOOT_PREVIEW_ACME_HOOK exclude each other')
  return { suffix, certificate: { cert: resolve(cwd, cert), key: resolve(cwd, key) }, acme: null }
}

function parseAcme(env: Readonly<NodeJS.ProcessEnv>, suffix: string, cwd: string): PreviewSettings['acme'] {
  const { OFFSHOOT_PREVIEW_ACME_HOOK: hook, OFFSHOOT_PREVIEW_ACME_EMAIL: email } = env
  if (!hook) return null
  if (!suffix.includes('.')) throw new UsageError(`no authority vouches for names under "${suffix}"`)
  const url = parseDirectory(env, 'OFFSHOOT_PREVIEW_ACME_DIRECTORY') ?? LETS_ENCRYPT
  return { directory_url: url, hook: resolve(cwd, hook), ...(email && { email }) }
}

function parseDatabaseSuffix(suffix: string | undefined): string | null {
  if (!suffix) return null
  if (DOMAIN.test(suffix.toLowerCase())) return suffix.toLowerCase()
  throw new UsageError(`OFFSHOOT_DATABASE_SUFFIX must be a domain, not "${suffix}"`)
}

/** `example.com`, or with another port than 443 `example.com:8443`. */
function parseEgressAllow(list: string | undefined): NetworkSettings {
  if (!list) return {}
  const exceptions = list.split(',').map((text) => text.trim())
  const wrong = exceptions.find((text) => parseEgressException(text) === null)
  if (wrong !== undefined)
    throw new UsageError(`OFFSHOOT_EGRESS_ALLOW must be CIDR:port, several with commas between them, not "${wrong}"`)
  return { egress_allow: exceptions }
}

function parseRange(range: string | undefined): NetworkSettings {
  if (!range) return {}
  if (!guestRange.safeParse(range).success)
    throw new UsageError(`OFFSHOOT_GUEST_RANGE must be a range such as ${DEFAULT_GUEST_RANGE}, not "${range}"`)
  return { guest_range: range }
}

function parseAccelerator(text = 'auto'): AcceleratorChoice {
  const parsed = acceleratorChoice.safeParse(text)
  if (parsed.success) return parsed.data
  throw new UsageError(`--accelerator must be one of ${acceleratorChoice.options.join(', ')}, not "${text}"`)
}

/** `null` if it is not set. */
function parseSwitch(env: Readonly<NodeJS.ProcessEnv>, name: string): boolean | null {
  const value = env[name]
  if (!value) return null
  if (value !== 'on' && value !== 'off') throw new UsageError(`${name} must be on or off, not "${value}"`)
  return value === 'on'
}

/** The last two exist for tests on hosts whose KVM is slow or incomplete (docs/kvm.md). */
function parseKvm(env: Readonly<NodeJS.ProcessEnv>): KvmSettings {
  const { OFFSHOOT_KVM_CPU: cpu, OFFSHOOT_KVM_KERNEL_PARAMETERS: parameters, OFFSHOOT_KVM_PATIENCE: patience } = env
  const settings: KvmSettings = {
    ...(cpu && { cpu }),
    ...(parameters && { kernel_parameters: parameters.split(' ').filter(Boolean) }),
    ...(patience && { patience: Number(patience) }),
    ...(parseSwitch(env, 'OFFSHOOT_KVM_VHOST_NET') === true && { vhost_net: true }),
  }
  const parsed = kvmSettings.safeParse(settings)
  if (parsed.success) return settings
  const [issue] = parsed.error.issues
  throw new UsageError(`OFFSHOOT_KVM_${String(issue?.path[0]).toUpperCase()} is not right: ${issue?.message}`)
}

function commandOf({ help, json, ...flags }: Flags): UpArguments['command'] {
  const [given, other] = (['down', 'prepare', 'doctor', 'sign-in-link'] as const).filter((name) => flags[name])
  if (other !== undefined) throw new UsageError(`--${given} and --${other} exclude one another`)
  if (json && given !== 'doctor') throw new UsageError('--json goes with --doctor')
  return help ? 'help' : (given ?? 'up')
}

function parseTemplates(list: string | undefined): readonly string[] | null {
  const names = (list ?? '').split(',').map((name) => name.trim())
  const given = names.filter((name) => name !== '')
  return given.length === 0 ? null : given
}

function parseMib(env: Readonly<NodeJS.ProcessEnv>, name: string, min: number): number | null {
  const mib = env[name] ?? ''
  if (mib === '') return null
  if (!/^\d{1,9}$/.test(mib) || Number(mib) < min) throw new UsageError(`${name} must be a number of MiB, not "${mib}"`)
  return Number(mib)
}

function parseCompressAfter(seconds = ''): Pick<DiskSettings, 'compress_after_s'> {
  if (seconds === '') return {}
  if (!/^\d{1,9}$/.test(seconds))
    throw new UsageError(`OFFSHOOT_COMPRESS_AFTER_S must be a number of seconds, not "${seconds}"`)
  return { compress_after_s: Number(seconds) }
}

function parseMaxUpload(env: Readonly<NodeJS.ProcessEnv>): number | null {
  const mib = parseMib(env, 'OFFSHOOT_MAX_UPLOAD_MIB', 1)
  return mib === null ? null : mib * 1024 ** 2
}

function parseRate(rate = ''): LimitSettings {
  if (rate === '') return {}
  const [, burst, perSecond] = /^([1-9]\d{0,6})\/([1-9]\d{0,6})$/.exec(rate) ?? []
  if (burst === undefined || perSecond === undefined || Math.max(Number(burst), Number(perSecond)) > 1_000_000) {
    throw new UsageError(`OFFSHOOT_RATE_LIMIT must be BURST/PER_SECOND, each from 1 to 1000000, not "${rate}"`)
  }
  return { rate_burst: Number(burst), rate_per_second: Number(perSecond) }
}

function parsePlan(plan = ''): LimitSettings {
  if (plan === '') return {}
  const parsed = planName.safeParse(plan)
  if (parsed.success) return { default_plan: parsed.data }
  throw new UsageError(`OFFSHOOT_DEFAULT_PLAN must be one of ${planName.options.join(', ')}, not "${plan}"`)
}
