import { fileURLToPath } from 'node:url'
import { join } from 'node:path'

/** Path of this checkout, without a trailing slash. */
export const repositoryRoot = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '')

export const templatesFolder = join(repositoryRoot, 'templates')
