import { z } from 'zod'
import * as appDomain from './app-domain.ts'
import * as app from './app.ts'
import * as audit from './audit.ts'
import * as backgroundExec from './background-exec.ts'
import * as billing from './billing.ts'
import * as build from './build.ts'
import * as change from './change.ts'
import * as code from './code.ts'
import * as database from './database.ts'
import * as deployment from './deployment.ts'
import descriptions from './descriptions.json' with { type: 'json' }
import * as eventList from './event-list.ts'
import * as event from './event.ts'
import * as exec from './exec.ts'
import * as file from './file.ts'
import * as fork from './fork.ts'
import * as gitProvider from './git-provider.ts'
import * as hosts from './host.ts'
import * as hostReconciliation from './host-reconciliation.ts'
import * as identity from './identity.ts'
import * as lifecycle from './lifecycle.ts'
import * as lineage from './lineage.ts'
import * as log from './log.ts'
import * as lsp from './lsp.ts'
import * as operator from './operator.ts'
import * as org from './org.ts'
import * as page from './page.ts'
import * as plan from './plan.ts'
import * as port from './port.ts'
import * as previewLink from './preview-link.ts'
import * as role from './role.ts'
import * as sandboxList from './sandbox-list.ts'
import * as sandboxLimits from './sandbox-limits.ts'
import * as sandboxMetrics from './sandbox-metrics.ts'
import * as sandbox from './sandbox.ts'
import * as scope from './scope.ts'
import * as signal from './signal.ts'
import * as snapshot from './snapshot.ts'
import * as ssh from './ssh.ts'
import * as status from './status.ts'
import * as templateImage from './template-image.ts'
import * as template from './template.ts'
import * as token from './token.ts'
import * as usage from './usage.ts'
import * as volume from './volume.ts'
import * as webhook from './webhook.ts'
import * as workspaceEvent from './workspace-event.ts'

/** The modules whose schemas `/openapi.json` names. */
const MODULES = {
  app,
  'app-domain': appDomain,
  audit,
  'background-exec': backgroundExec,
  billing,
  build,
  change,
  code,
  database,
  deployment,
  event,
  'event-list': eventList,
  exec,
  file,
  fork,
  'git-provider': gitProvider,
  host: hosts,
  'host-reconciliation': hostReconciliation,
  identity,
  lifecycle,
  lineage,
  log,
  lsp,
  operator,
  org,
  page,
  plan,
  port,
  'preview-link': previewLink,
  role,
  sandbox,
  'sandbox-list': sandboxList,
  'sandbox-limits': sandboxLimits,
  'sandbox-metrics': sandboxMetrics,
  scope,
  signal,
  snapshot,
  ssh,
  status,
  template,
  'template-image': templateImage,
  token,
  usage,
  volume,
  webhook,
  'workspace-event': workspaceEvent,
}

/** A schema that a module exports. */
export interface PublicSchema {
  /** The name of the export, with a capital. */
  readonly name: string
  readonly schema: z.ZodType
  /** Descriptions of its fields by path, such as `network.egress`. The path '' is the schema itself. */
  readonly descriptions: Readonly<Record<string, string>>
}

const described: Readonly<Record<string, Readonly<Record<string, string>>>> = descriptions

/**
 * The exported schemas of objects, unions and enumerations.
 * @throws Error two exports have one name
 */
export function publicSchemas(): readonly PublicSchema[] {
  const schemas = new Map<string, PublicSchema>()
  for (const [module, exported] of Object.entries(MODULES)) {
    for (const [key, schema] of Object.entries(exported)) {
      if (!isPublic(schema)) continue
      const name = key.charAt(0).toUpperCase() + key.slice(1)
      if (schemas.has(name)) throw new Error(`${module}.ts: another module exports ${key}`)
      schemas.set(name, { name, schema, descriptions: described[key] ?? {} })
    }
  }
  return [...schemas.values()]
}

function isPublic(value: unknown): value is z.ZodType {
  return value instanceof z.ZodObject || value instanceof z.ZodUnion || value instanceof z.ZodEnum
}
