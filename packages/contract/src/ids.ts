declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** UUID, version 4, lower case. Control chooses it before the object exists. */
export type SandboxId = Branded<'SandboxId'>
/** UUID, version 4, lower case. Control chooses it before the object exists. */
export type SnapshotId = Branded<'SnapshotId'>
/** UUID, version 4, lower case. Control chooses it before the object exists. */
export type VolumeId = Branded<'VolumeId'>
/** UUID, version 4, lower case. */
export type AppId = Branded<'AppId'>
/** UUID, version 4, lower case. */
export type DeploymentId = Branded<'DeploymentId'>
/**
 * UUID, version 4, lower case: of a template build and of the resulting template. Control chooses it before the object
 * exists.
 */
export type BuildId = Branded<'BuildId'>
/** UUID of an organization, the tenant of every resource. */
export type WorkspaceId = Branded<'WorkspaceId'>
/** UUID that an agent chooses at its first start. */
export type AgentId = Branded<'AgentId'>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether the text is a UUID in lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** `null` if the text is no valid snapshot id. */
export function parseSnapshotId(text: string): SnapshotId | null {
  return isUuid(text) ? (text as SnapshotId) : null
}

/** `null` if the text is no valid sandbox id. Routes answer 404, as for an unknown one. */
export function parseSandboxId(text: string): SandboxId | null {
  return isUuid(text) ? (text as SandboxId) : null
}

/** `null` if the text is no valid volume id. */
export function parseVolumeId(text: string): VolumeId | null {
  return isUuid(text) ? (text as VolumeId) : null
}

/** `null` if the text is no valid build id. */
export function parseBuildId(text: string): BuildId | null {
  return isUuid(text) ? (text as BuildId) : null
}
