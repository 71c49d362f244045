import { z } from 'zod'
import { agentTemplate } from './template.ts'
import { buildStatus, buildStage } from './build.ts'

/** Schemas of the build routes between control and an agent (docs/internal-api.md). */

/**
 * Body of the agent's `POST /v1/builds` → 202 {@link agentBuild}. Control uploads the archive first, by `PUT
 * /v1/builds/{id}/rootfs`. Control chooses the id; the finished template has the same one.
 */
export const buildOnAgentBody = z.object({
  id: z.uuid(),
  /** Shown in messages. Control ensures that it is unique in the workspace. */
  name: z.string().min(1).max(64),
  /** Size of the disk, MiB. */
  size_mb: z.int(),
  cpu: z.int(),
  memory_mb: z.int(),
  /** Default: the command that the image itself names. Empty: no command. */
  start_cmd: z.string().optional(),
  ready_cmd: z.string().optional(),
})
export type BuildOnAgentBody = z.infer<typeof buildOnAgentBody>

/**
 * Body of the agent's `POST /v1/sandboxes/{id}/template` → 202 {@link agentBuild}. Control chooses the id; the finished
 * template has the same one.
 */
export const templateOfSandboxBody = z.object({
  id: z.uuid(),
  name: z.string().min(1).max(64),
  memory: z.boolean(),
  start_cmd: z.string().optional(),
  ready_cmd: z.string().optional(),
})
export type TemplateOfSandboxBody = z.infer<typeof templateOfSandboxBody>

/** Answer 201 of the agent's `PUT /v1/builds/{id}/rootfs`. */
export const uploadedRootfs = z.object({ bytes: z.int() })

/** A build as its agent reports it. */
export const agentBuild = z.object({
  id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  status: buildStatus,
  stage: buildStage,
  /** 0 to 100. */
  percent: z.int(),
  /** Why the build failed: a sentence that begins with the stage. `null` unless it failed. */
  error: z.string().nullable(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  /** Size of the disk, MiB. */
  size_mb: z.int(),
  /** Bytes of the archive, or of the data captured from the sandbox. */
  bytes: z.int(),
  /** The resulting template; `null` while there is none. */
  template: agentTemplate.nullable(),
})
export type AgentBuild = z.infer<typeof agentBuild>

/**
 * Answer of the agent's `GET /v1/builds`: the builds of the credential's workspace, or all builds without a workspace.
 */
export const agentBuildList = z.object({ builds: z.array(agentBuild) })
export type AgentBuildList = z.infer<typeof agentBuildList>

/** A complete built template. */
export const agentTemplateId = z.object({ id: z.string(), workspace_id: z.string() })
export type AgentTemplateId = z.infer<typeof agentTemplateId>

/**
 * Answer of the agent's `GET /v1/templates`: all complete built templates, including those that cannot be restored at
 * present.
 */
export const agentTemplateList = z.object({
  templates: z.array(agentTemplateId),
  /** Ids of templates whose records the agent cannot read. Earlier agents do not tell. */
  unreadable: z.array(z.string()).default([]),
})
export type AgentTemplateList = z.infer<typeof agentTemplateList>
