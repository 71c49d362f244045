import { join } from 'node:path'
import { builtFolder } from '../base/product.ts'
import { repositoryRoot } from '../base/repository.ts'
import { runCommand } from '../base/run-command.ts'
import { hashTrees } from './content-hash.ts'
import type { Step } from './step.ts'

const FOLDER = 'docs'
const UNUSED = { has: (name: string) => /^node_modules$|\.test\.ts$/.test(name) }
/** What the pages show. The types of the SDK stand for the routes of control, from which they are generated. */
const INPUTS = [
  'docs',
  'packages/docs',
  'packages/contract/src',
  'packages/sdk/src/generated',
  'guest/PROTOCOL.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'SECURITY.md',
  'package-lock.json',
]

/** Where the built documentation is. */
export function docsFolder(imagesDir: string): string {
  return builtFolder(imagesDir, FOLDER)
}

/** Builds the site of the documentation in a checkout. */
export function docsStep(): Step {
  return {
    name: 'docs',
    title: 'documentation',
    after: [],
    outputs: [FOLDER],
    maxSeconds: 300,
    inputsHash: () =>
      hashTrees(
        INPUTS.map((input) => join(repositoryRoot, input)),
        UNUSED,
      ),
    run: async (work) => {
      const program = join(repositoryRoot, 'packages/docs/src/main.ts')
      await runCommand(process.execPath, [program, join(work.folder, FOLDER)], { deadline: work.deadline })
    },
  }
}
