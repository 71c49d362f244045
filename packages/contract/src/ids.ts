declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** UUID, version 4, lower case. Chosen by control before anything exists. */
export type SandboxId = Branded<'SandboxId'>
/** UUID, version 4, lower case. Chosen by control before anything exists. */
export type SnapshotId = Branded<'SnapshotId'>
/** UUID, version 4, lower case. Chosen by control before anything exists. */
export type VolumeId = Branded<'VolumeId'>
/** UUID, version 4, lower case. */
export type AppId = Branded<'AppId'>
/** UUID, version 4, lower case. */
export type DeploymentId = Branded<'DeploymentId'>
/** UUID, version 4, lower case: of a build of a template, and of the template that comes of it. Chosen by control before anything exists. */
export type BuildId = Branded<'BuildId'>
/** UUID of an organization; the tenant of every resource. */
export type WorkspaceId = Branded<'WorkspaceId'>
/** UUID an agent gives itself at its first start. */
export type AgentId = Branded<'AgentId'>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** `null` for anything that no snapshot can be called. */
export function parseSnapshotId(text: string): SnapshotId | null {
  return isUuid(text) ? (text as SnapshotId) : null
}

/** `null` for anything that no sandbox can be called: such an id answers 404 like an unknown one. */
export function parseSandboxId(text: string): SandboxId | null {
  return isUuid(text) ? (text as SandboxId) : null
}

/** `null` for anything that no volume can be called. */
export function parseVolumeId(text: string): VolumeId | null {
  return isUuid(text) ? (text as VolumeId) : null
}

/** `null` for anything that no build can be called. */
export function parseBuildId(text: string): BuildId | null {
  return isUuid(text) ? (text as BuildId) : null
}
