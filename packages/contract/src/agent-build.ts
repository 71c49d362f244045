import { z } from 'zod'
import { template } from './template.ts'
import { buildStatus, buildStage } from './build.ts'

/** What control and an agent say to one another about builds of templates (ARCHITECTURE.md, "Between control and agent"). */

/**
 * Body of the agent's `POST /v1/builds` → 202 {@link agentBuild}: begins with what was uploaded before, by
 * `PUT /v1/builds/{id}/rootfs`. The id is control's; a template that comes of it is known by the same.
 */
export const buildOnAgentBody = z.object({
  id: z.uuid(),
  /** For what people are told; control sees to it that a workspace has it once. */
  name: z.string().min(1).max(64),
  /** MiB of the disk. */
  size_mb: z.int(),
  cpu: z.int(),
  memory_mb: z.int(),
  /** Absent: what the image names itself. Empty: nothing is started. */
  start_cmd: z.string().optional(),
  ready_cmd: z.string().optional(),
})
export type BuildOnAgentBody = z.infer<typeof buildOnAgentBody>

/** Body of the agent's `POST /v1/sandboxes/{id}/template` → 202 {@link agentBuild}. The id is control's, as above. */
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

/** A build as its agent knows it. */
export const agentBuild = z.object({
  id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  status: buildStatus,
  stage: buildStage,
  /** 0 to 100. */
  percent: z.int(),
  /** A sentence that begins with the stage; only of one that failed. */
  error: z.string().nullable(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  /** MiB of the disk. */
  size_mb: z.int(),
  /** Bytes of the archive, or of what was taken of a sandbox. */
  bytes: z.int(),
  /** What came of it, while it is there. */
  template: template.nullable(),
})
export type AgentBuild = z.infer<typeof agentBuild>

/** Answer of the agent's `GET /v1/builds`: of the caller's workspace; of all for control itself. */
export const agentBuildList = z.object({ builds: z.array(agentBuild) })
export type AgentBuildList = z.infer<typeof agentBuildList>

/** Answer of the agent's `GET /v1/templates`: built ones that are whole, whether they can be restored at the moment or not. */
export const agentTemplateList = z.object({
  templates: z.array(z.object({ id: z.string(), workspace_id: z.string() })),
})
