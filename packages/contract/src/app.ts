import { z } from 'zod'
import { env } from './env.ts'
import { flag, integer, optional, text } from './fields.ts'

/** Branch that is deployed when an app's creator names none. */
export const DEFAULT_BRANCH = 'main'
/** Port that an app listens on when its creator names none. */
export const DEFAULT_APP_PORT = 3000
/** Seconds without a request after which an app's sandbox hibernates by default. */
export const DEFAULT_APP_IDLE_SECONDS = 600
/** Sandboxes that one app may be served by. */
export const MAX_APP_INSTANCES = 16
/** The template that apps are built and run in: `base` with this much memory, whatever an app asks for. */
export const APP_TEMPLATE = 'app'
/** vCPUs of an app. */
export const APP_CPU = 1
/** MiB of an app. */
export const APP_MEMORY_MIB = 4096

const MAX_COMMAND_CHARS = 8192

/** interface.md's words for what is missing. */
const isRequired = (name: string, maxChars: number) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined || input === null ? `${name} is required` : `${name} must be a string`,
    })
    .min(1, `${name} is required`)
    .max(maxChars, `${name} must be at most ${maxChars} characters`)

/** git's other protocols reach into the machine that clones, or need keys that nobody has. */
const gitUrl = isRequired('git_url', 2048)
  .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), 'git_url must be an http or https address')
  .refine((url) => !/[\s\0\p{Cc}]/u.test(url), 'git_url must not contain spaces or control characters')

const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]*$/
const name = isRequired('name', 64).regex(
  NAME,
  'name must be 1 to 64 characters of A-Z, a-z, 0-9, " ", ".", "_" and "-", and begin with a letter or digit',
)

/** What git takes for a branch, a tag or a commit (git-check-ref-format), and no shell or option for anything else. */
const REF = /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\/\.|\.lock$|\/$|\.$))[A-Za-z0-9._/+@=#-]+$/
const ref = (field: string) => text(field, 255).regex(REF, `${field} must be a branch, a tag or a commit`)

const command = (field: string) =>
  text(field, MAX_COMMAND_CHARS).refine((value) => !value.includes('\0'), `${field} must not contain NUL`)

const rootDirectory = text('root_directory', 1024)
  .refine((path) => !/[\0\n\r]/.test(path), 'root_directory must not contain line breaks')
  .refine((path) => !path.split('/').includes('..'), 'root_directory must not leave the repository')

export const framework = z.enum(['nextjs', 'vite', 'node', 'static', 'python'], {
  error: 'framework must be one of nextjs, vite, node, static, python',
})
export type Framework = z.infer<typeof framework>

/** What may be changed; every field as at create. */
const changeable = {
  /** Default `main`. */
  git_branch: optional(ref('git_branch')),
  /** Found out from the files of the repository when absent. */
  framework: optional(framework),
  /** Kept and shown; the template has one runtime of each kind. */
  runtime: optional(text('runtime', 64)),
  /** Overrides what the framework, or `offshoot.json` in the repository, says. */
  install_command: optional(command('install_command')),
  build_command: optional(command('build_command')),
  start_command: optional(command('start_command')),
  /** Below the root of the repository. */
  root_directory: optional(rootDirectory),
  /** Present while the app is built and while it runs; never returned by a read. */
  env,
  /** TCP port that the app listens on, also its `PORT`. Default 3000. */
  port: optional(integer('port', 1, 65_535)),
  /** Accepted and ignored: an app has {@link APP_CPU}. */
  cpu: optional(z.number({ error: 'cpu must be a number' })),
  /** Accepted and ignored: an app has {@link APP_MEMORY_MIB}. */
  memory_mb: optional(z.number({ error: 'memory_mb must be a number' })),
  /** Default 1. */
  max_instances: optional(integer('max_instances', 1, MAX_APP_INSTANCES)),
  /** Whether a push to the branch is deployed. Default false. */
  auto_deploy: optional(flag('auto_deploy')),
  /** Whether each pull request from a branch of the repository is deployed to an address of its own. Default false. */
  preview_deploys: optional(flag('preview_deploys')),
  /** Seconds, default 600. */
  idle_timeout_seconds: optional(integer('idle_timeout_seconds', 60, 315_360_000)),
}

/** Body of `POST /v1/apps`. */
export const createAppBody = z.object({ git_url: gitUrl, name, ...changeable })
export type CreateAppBody = z.infer<typeof createAppBody>

/** Body of `PATCH /v1/apps/{id}`: what is absent or null stays; `env` replaces the whole map. An empty command is none. */
export const patchAppBody = z.object(changeable)
export type PatchAppBody = z.infer<typeof patchAppBody>

/** `error`: the last deploy failed and no other version serves, or what served is gone. */
export const appStatus = z.enum(['created', 'building', 'running', 'hibernated', 'error'])
export type AppStatus = z.infer<typeof appStatus>

/** An app as the API shows it. */
export const app = z.object({
  /** UUID. */
  id: z.string(),
  name: z.string(),
  git_url: z.string(),
  git_branch: z.string(),
  framework: framework.nullable(),
  runtime: z.string().nullable(),
  install_command: z.string().nullable(),
  build_command: z.string().nullable(),
  start_command: z.string().nullable(),
  root_directory: z.string().nullable(),
  /** Its names, each with `***`. */
  env: z.record(z.string(), z.string()),
  port: z.int(),
  cpu: z.int(),
  /** MiB. */
  memory_mb: z.int(),
  max_instances: z.int(),
  auto_deploy: z.boolean(),
  preview_deploys: z.boolean(),
  /** The app that this is a preview of; `null` for one that is none. */
  preview_of: z.string().nullable(),
  /** The pull request that it is a preview of. */
  pull_number: z.int().nullable(),
  idle_timeout_seconds: z.int(),
  /** The same for its life, also before the first deploy. */
  url: z.string(),
  /** By its name; `null` where that makes no host name, or was taken. */
  name_url: z.string().nullable(),
  status: appStatus,
  /** The deployment that serves. */
  active_deployment_id: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  updated_at: z.string(),
})
export type App = z.infer<typeof app>

/** Body of `POST /v1/apps/{id}/deploys`. */
export const deployBody = z.object({
  /** A branch, a tag or a commit; the app's branch by default. */
  git_ref: optional(ref('git_ref')),
})

/** Body of `POST /v1/apps/{id}/rollback`. */
export const rollbackBody = z.object({
  /** One that has been live; the one before the active by default. */
  deployment_id: optional(text('deployment_id', 64)),
})
