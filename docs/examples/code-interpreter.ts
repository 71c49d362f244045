// Code that runs step by step and keeps its variables. A fork has a copy of them.
import { Offshoot } from '@offshoot/sdk'

await using sandbox = await Offshoot.create({ template: 'code-interpreter', ttlSeconds: 600 })

await sandbox.code.run(`
import pandas as pd
sales = pd.DataFrame({'city': ['Bern', 'Bonn', 'Bern'], 'amount': [3, 4, 5]})`)
const table = await sandbox.code.run(`sales.groupby('city').amount.sum().to_dict()`)
console.log(table.text)

const failed = await sandbox.code.run('sales.nothing')
console.log(failed.error?.name)

await using fork = await sandbox.fork()
await fork.code.run('sales.loc[0, "amount"] = 100')
const [changed, original] = await Promise.all([
  fork.code.run('sales.amount.sum()'),
  sandbox.code.run('sales.amount.sum()'),
])
console.log('fork:', changed.text, 'original:', original.text)
