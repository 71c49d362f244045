import type { FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import { BuildFailure } from './build-failure.ts'
import { readTarIndex, type TarEntry } from './tar-index.ts'

/** Maximum bytes of a manifest or configuration. */
const MAX_JSON_BYTES = 4 * 1024 * 1024
/** Maximum layers of one image. Docker's own limit is 127. */
const MAX_LAYERS = 512
/** Maximum depth of nested indexes. */
const MAX_INDEXES = 4

/** The part of a file that contains one layer: a tar archive, possibly compressed. */
export interface Layer {
  readonly offset: number
  readonly bytes: number
}

/** How an image's configuration says to run programs. */
export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly user: string | null
  /** Entrypoint and command, concatenated; empty if the image has neither. */
  readonly start: readonly string[]
}

export interface ImageLayout {
  readonly kind: 'docker' | 'oci'
  /** Digest of the image's configuration. */
  readonly digest: string
  /** Lowest layer first. */
  readonly layers: readonly Layer[]
  readonly config: ImageConfig
}

const strings = z.array(z.string()).nullish()
const imageConfig = z.object({
  config: z
    .object({
      Env: strings,
      WorkingDir: z.string().nullish(),
      User: z.string().nullish(),
      Entrypoint: strings,
      Cmd: strings,
    })
    .nullish(),
})
const dockerManifest = z.array(z.object({ Config: z.string(), Layers: z.array(z.string()).max(MAX_LAYERS) })).min(1)
const digest = z.string().regex(/^[a-z0-9]+:[0-9a-f]{32,128}$/)
const descriptor = z.object({
  digest,
  mediaType: z.string().optional(),
  platform: z.object({ os: z.string(), architecture: z.string() }).optional(),
})
const ociIndex = z.object({ manifests: z.array(descriptor) })
const ociManifest = z.object({ config: descriptor, layers: z.array(descriptor).max(MAX_LAYERS) })

const TOP =
  /^(?:blobs(?:\/[a-z0-9]+(?:\/[0-9a-f]+)?)?|index\.json|manifest\.json|oci-layout|repositories|[0-9a-f]{64}\.json|[0-9a-f]{64}(?:\/(?:layer\.tar|json|VERSION))?)$/

/** Reads `docker save` output or a tar of an OCI layout; `null` for other archives. @throws BuildFailure if a part is missing */
export async function readImageLayout(file: FileHandle, bytes: number): Promise<ImageLayout | null> {
  const entries = await readTarIndex(file, bytes, ({ name }) => TOP.test(name))
  if (entries === null) return null
  const archive = new ImageArchive(file, entries)
  if (entries.has('manifest.json')) return readDocker(archive)
  return entries.has('index.json') ? readOci(archive) : null
}

class ImageArchive {
  readonly #file: FileHandle
  readonly #entries: ReadonlyMap<string, TarEntry>

  constructor(file: FileHandle, entries: ReadonlyMap<string, TarEntry>) {
    this.#file = file
    this.#entries = entries
  }

  /** In archives of old Docker versions, a repeated layer is a link to the first one. */
  layer(name: string): Layer {
    const entry = this.#entries.get(name)
    if (entry?.kind === 'file') return { offset: entry.offset, bytes: entry.bytes }
    const target = entry?.kind === 'link' ? this.#entries.get(entry.target.replace(/^(?:\.\.\/)+/, '')) : undefined
    if (target?.kind !== 'file') throw new BuildFailure(`the image lacks its layer ${name}`)
    return { offset: target.offset, bytes: target.bytes }
  }

  async json<Schema extends z.ZodType>(name: string, schema: Schema): Promise<z.output<Schema>> {
    const entry = this.#entries.get(name)
    if (entry?.kind !== 'file') throw new BuildFailure(`the image lacks ${name}`)
    if (entry.bytes > MAX_JSON_BYTES) throw new BuildFailure(`${name} of the image is too large`)
    const content = Buffer.alloc(entry.bytes)
    await this.#file.read(content, 0, entry.bytes, entry.offset)
    try {
      return schema.parse(JSON.parse(content.toString('utf8')))
    } catch {
      throw new BuildFailure(`${name} of the image cannot be read`)
    }
  }
}

async function readDocker(archive: ImageArchive): Promise<ImageLayout> {
  const [image] = await archive.json('manifest.json', dockerManifest)
  if (image === undefined) throw new BuildFailure('the archive holds no image')
  const config = await archive.json(image.Config, imageConfig)
  const hash = /[0-9a-f]{64}/.exec(image.Config)?.[0] ?? ''
  return {
    kind: 'docker',
    digest: `sha256:${hash}`,
    layers: image.Layers.map((name) => archive.layer(name)),
    config: configOf(config),
  }
}

async function readOci(archive: ImageArchive): Promise<ImageLayout> {
  let chosen = choose((await archive.json('index.json', ociIndex)).manifests)
  for (let depth = 0; depth < MAX_INDEXES && isIndex(chosen); depth++) {
    chosen = choose((await archive.json(blobOf(chosen), ociIndex)).manifests)
  }
  const manifest = await archive.json(blobOf(chosen), ociManifest)
  return {
    kind: 'oci',
    digest: manifest.config.digest,
    layers: manifest.layers.map((layer) => archive.layer(blobOf(layer))),
    config: configOf(await archive.json(blobOf(manifest.config), imageConfig)),
  }
}

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Chooses the manifest for this machine's architecture, otherwise the first. */
function choose(manifests: readonly z.infer<typeof descriptor>[]): z.infer<typeof descriptor> {
  const fits = manifests.find(
    ({ platform }) => platform?.os === 'linux' && platform.architecture === ARCHITECTURES[process.arch],
  )
  const chosen = fits ?? manifests[0]
  if (chosen === undefined) throw new BuildFailure('the archive holds no image')
  return chosen
}

function isIndex({ mediaType = '' }: z.infer<typeof descriptor>): boolean {
  return /index|manifest\.list/.test(mediaType)
}

function blobOf({ digest: text }: z.infer<typeof descriptor>): string {
  return `blobs/${text.replace(':', '/')}`
}

function configOf({ config }: z.infer<typeof imageConfig>): ImageConfig {
  const env = (config?.Env ?? []).flatMap((text): [string, string][] => {
    const at = text.indexOf('=')
    return at > 0 && !text.includes('\0') ? [[text.slice(0, at), text.slice(at + 1)]] : []
  })
  // `USER` may contain a group (`user:group`). The agent ignores it and uses the user's own group.
  const [user = ''] = (config?.User ?? '').split(':', 1)
  const cwd = config?.WorkingDir ?? ''
  return {
    env: Object.fromEntries(env),
    cwd: cwd.startsWith('/') && cwd !== '/' ? cwd : null,
    user: user === '' ? null : user,
    start: [...(config?.Entrypoint ?? []), ...(config?.Cmd ?? [])],
  }
}
