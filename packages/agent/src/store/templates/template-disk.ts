/** What a template is booted from. Never written again. */
export interface TemplateDisk {
  /** A root file system, raw. */
  readonly rootfs: string
  /** Of one that was made from a sandbox: a layer over it, which names it as `rootfs.ext4`. */
  readonly lower: string | null
}
