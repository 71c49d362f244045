import { fileURLToPath } from 'node:url'
import { join } from 'node:path'

/** The checkout that this file runs from, without a slash at the end. */
export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

export const templatesFolder = join(repositoryRoot, 'templates')
