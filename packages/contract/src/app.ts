import { z } from 'zod'
import { env } from './env.ts'
import { flag, integer, optional, text } from './fields.ts'
import { createdQuery, once } from './page.ts'
import { queryOneOf } from './query-fields.ts'
import { visibility } from './sandbox.ts'

/** Branch to deploy if the creator names none. */
export const DEFAULT_BRANCH = 'main'
/** Port that the app listens on if the creator names none. */
export const DEFAULT_APP_PORT = 3000
/** Seconds without a request after which an app's sandbox hibernates, by default. */
export const DEFAULT_APP_IDLE_SECONDS = 600
/** Maximum sandboxes that serve one app. */
export const MAX_APP_INSTANCES = 16
/** The template in which apps are built and run: `base` with {@link APP_MEMORY_MIB}. */
export const APP_TEMPLATE = 'app'
/** vCPUs of an app. */
export const APP_CPU = 1
/** MiB of an app. */
export const APP_MEMORY_MIB = 4096

const MAX_COMMAND_CHARS = 8192

/** The specification's error texts for a missing field. */
const isRequired = (name: string, maxChars: number) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined || input === null ? `${name} is required` : `${name} must be a string`,
    })
    .min(1, `${name} is required`)
    .max(maxChars, `${name} must be at most ${maxChars} characters`)

/** Other git protocols would reach into the cloning machine, or need SSH keys that Offshoot does not have. */
const gitUrl = isRequired('git_url', 2048)
  .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), 'git_url must be an http or https address')
  .refine((url) => !/[\s\0\p{Cc}]/u.test(url), 'git_url must not contain spaces or control characters')

const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._-]*$/
const name = isRequired('name', 64).regex(
  NAME,
  'name must be 1 to 64 characters of A-Z, a-z, 0-9, " ", ".", "_" and "-", and begin with a letter or digit',
)

/**
 * Names that git accepts for a branch, tag or commit (git-check-ref-format). Excludes everything that a shell or an
 * option parser would interpret.
 */
const REF = /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{|\/\.|\.lock$|\/$|\.$))[A-Za-z0-9._/+@=#-]+$/
const ref = (field: string) => text(field, 255).regex(REF, `${field} must be a branch, a tag or a commit`)

const command = (field: string) =>
  text(field, MAX_COMMAND_CHARS).refine((value) => !value.includes('\0'), `${field} must not contain NUL`)

const rootDirectory = text('root_directory', 1024)
  .refine((path) => !/[\0\n\r]/.test(path), 'root_directory must not contain line breaks')
  .refine((path) => !path.split('/').includes('..'), 'root_directory must not leave the repository')

/** Decides the default commands of an app. */
export const framework = z.enum(['nextjs', 'vite', 'node', 'static', 'python'], {
  error: 'framework must be one of nextjs, vite, node, static, python',
})
export type Framework = z.infer<typeof framework>

/** The fields that PATCH may change; the same rules apply at create. */
const changeable = {
  /** Default `main`. */
  git_branch: optional(ref('git_branch')),
  /** Detected from the files of the repository if absent. */
  framework: optional(framework),
  /** Stored and returned only. The template has one runtime of each kind. */
  runtime: optional(text('runtime', 64)),
  /** Overrides the command of the framework or of `offshoot.json` in the repository. */
  install_command: optional(command('install_command')),
  build_command: optional(command('build_command')),
  start_command: optional(command('start_command')),
  /** Relative to the root of the repository. */
  root_directory: optional(rootDirectory),
  /** Set during builds and at run time. Never returned by a read. */
  env,
  /** TCP port that the app listens on; passed to it as `PORT`. Default 3000. */
  port: optional(integer('port', 1, 65_535)),
  /** Accepted and ignored. Every app has {@link APP_CPU}. */
  cpu: optional(z.number({ error: 'cpu must be a number' })),
  /** Accepted and ignored. Every app has {@link APP_MEMORY_MIB}. */
  memory_mb: optional(z.number({ error: 'memory_mb must be a number' })),
  /** Default 1. */
  max_instances: optional(integer('max_instances', 1, MAX_APP_INSTANCES)),
  /** Whether a push to the branch triggers a deploy. Default false. */
  auto_deploy: optional(flag('auto_deploy')),
  /**
   * Whether each pull request from a branch of the repository gets a preview app with its own address. Default false.
   */
  preview_deploys: optional(flag('preview_deploys')),
  /** Seconds without a request before the app hibernates. Default 600. */
  idle_timeout_seconds: optional(integer('idle_timeout_seconds', 60, 315_360_000)),
  /** Default `public`. `private`: the app's addresses, and those of its previews, take a link or a session. */
  visibility: optional(visibility),
}

/** Body of `POST /v1/apps`. */
export const createAppBody = z.object({ git_url: gitUrl, name, ...changeable })
export type CreateAppBody = z.infer<typeof createAppBody>

/**
 * Body of `PATCH /v1/apps/{id}`. Absent and null fields keep their values. `env` replaces the whole map. An empty
 * command removes the override.
 */
export const patchAppBody = z.object(changeable)
export type PatchAppBody = z.infer<typeof patchAppBody>

/** `error`: the last deploy failed and no other version serves, or the serving sandbox is gone. */
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
  /** The names of the variables, each with the value `***`. */
  env: z.record(z.string(), z.string()),
  port: z.int(),
  cpu: z.int(),
  /** MiB. */
  memory_mb: z.int(),
  max_instances: z.int(),
  auto_deploy: z.boolean(),
  preview_deploys: z.boolean(),
  /** Id of the app that this one is a preview of; `null` for other apps. */
  preview_of: z.string().nullable(),
  /** Number of the pull request that this app previews. */
  pull_number: z.int().nullable(),
  idle_timeout_seconds: z.int(),
  visibility,
  /** Stable for the app's life; valid before the first deploy. */
  url: z.string(),
  /** Address by the app's name. `null` if the name is no valid host label, or if another app has it. */
  name_url: z.string().nullable(),
  status: appStatus,
  /** The deployment that serves requests. */
  active_deployment_id: z.string().nullable(),
  /** RFC 3339, UTC, milliseconds. */
  created_at: z.string(),
  updated_at: z.string(),
})
export type App = z.infer<typeof app>

/** Body of `POST /v1/apps/{id}/deploys`. */
export const deployBody = z.object({
  /** A branch, tag or commit. Default: the app's branch. */
  git_ref: optional(ref('git_ref')),
})

/** Body of `POST /v1/apps/{id}/rollback`. */
export const rollbackBody = z.object({
  /** A deployment that was live before. Default: the one before the active deployment. */
  deployment_id: optional(text('deployment_id', 64)),
})

/** Query of `GET /v1/apps` and `GET /v1/apps/{id}/previews`. */
export const appListQuery = createdQuery.extend({
  name: once('name').optional(),
  status: queryOneOf('status', appStatus.options),
  git_url: once('git_url').optional(),
  git_branch: once('git_branch').optional(),
})
