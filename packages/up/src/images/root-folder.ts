/** A root file system as a folder, ready to become an image. */
export interface RootFolder {
  readonly path: string
  /** Name → version of what template.json tells the user. */
  readonly packages: Readonly<Record<string, string>>
  /** Who owns what in the image; `as-is` when the folder's own owners are right. */
  readonly owners: 'as-is' | OwnerOfPath
}

/** The uid (also gid) that owns a path of the image, which starts with a slash. */
export type OwnerOfPath = (path: string) => number
