/** Builds a Debian image from the recipe in a folder. Arguments: the folder of recipes, the recipe's name, the images' folder. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { recipe } from '@offshoot/up/images/recipe'
import { runSteps } from '@offshoot/up/images/run-steps'
import { templateStep } from '@offshoot/up/images/template-step'

// As bin/up does it.
process.env['PATH'] += ':/usr/sbin:/sbin'
const [recipes = '', name = '', images = ''] = process.argv.slice(2)
const parsed = recipe.parse(JSON.parse(await readFile(join(recipes, name, 'recipe.json'), 'utf8')))
const say = (line: string) => process.stdout.write(`${line}\n`)
await runSteps([templateStep(parsed, recipes)], images, new AbortController().signal, {
  started: ({ title }) => say(title),
  reported: (_step, what) => say(what),
  finished: (_step, seconds) => say(`done in ${seconds.toFixed(1)} s`),
})
