import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

export interface KernelModule {
  readonly path: string
  /** `virtio-rng.ko` */
  readonly file: string
  /** Names of modules to load before it. */
  readonly depends: readonly string[]
}

export interface KernelModules {
  /** Path of each loadable module, by name. */
  readonly paths: ReadonlyMap<string, string>
  /** Names of modules built into the kernel. */
  readonly builtin: ReadonlySet<string>
}

/** The kernel treats `-` and `_` in module names alike. */
function moduleName(file: string): string {
  return basename(file, '.ko').replaceAll('-', '_')
}

/**
 * @param folder `lib/modules/RELEASE` of an unpacked kernel package. It has no modules.dep, which depmod makes on
 *   installation
 */
export async function findModules(folder: string): Promise<KernelModules> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ko'))
  const builtin = (await readFile(join(folder, 'modules.builtin'), 'utf8')).split('\n').filter((line) => line !== '')
  return {
    paths: new Map(files.map((file) => [moduleName(file), join(folder, file)])),
    builtin: new Set(builtin.map(moduleName)),
  }
}

/** The wanted modules and all their dependencies, in load order. */
export async function loadOrder(modules: KernelModules, wanted: readonly string[]): Promise<readonly KernelModule[]> {
  const order = new Map<string, KernelModule>()
  const visiting = new Set<string>()

  const visit = async (name: string): Promise<void> => {
    if (order.has(name) || modules.builtin.has(name)) return
    if (visiting.has(name)) throw new Error(`kernel module ${name} depends on itself`)
    const path = modules.paths.get(name)
    if (path === undefined) throw new Error(`the kernel package holds no module ${name}`)
    visiting.add(name)
    const module = { path, file: basename(path), depends: readDepends(await readFile(path)) }
    for (const dependency of module.depends) await visit(dependency)
    order.set(name, module)
  }

  for (const name of wanted) await visit(name.replaceAll('-', '_'))
  return [...order.values()]
}

/**
 * A module's `.modinfo` section is a list of NUL-terminated `key=value` texts. `depends=` occurs once, and may be
 * empty.
 */
export function readDepends(module: Buffer): readonly string[] {
  const key = Buffer.from('\0depends=')
  const start = module.indexOf(key)
  if (start === -1) throw new Error('not a kernel module: it does not say what it depends on')
  const from = start + key.length
  const list = module.toString('latin1', from, module.indexOf(0, from))
  return list === '' ? [] : list.split(',').map((name) => name.replaceAll('-', '_'))
}
