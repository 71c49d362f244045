/** A folder with a complete root file system. */
export interface RootFolder {
  readonly path: string
  /** Name → version, for template.json. */
  readonly packages: Readonly<Record<string, string>>
  /** Owners of the image's files; `as-is`: the folder's own owners. */
  readonly owners: 'as-is' | OwnerOfPath
}

/** Returns the uid (also gid) of a path in the image. The path starts with a slash. */
export type OwnerOfPath = (path: string) => number
