import { ApiError } from '@offshoot/contract/errors'
import type { GitProvider } from '../model/git-provider.ts'

/** @throws ApiError 503 if the operator has configured none */
export function providerOf({ gitProvider }: { readonly gitProvider: GitProvider | null }): GitProvider {
  if (gitProvider === null) throw new ApiError('gitProviderUnconfigured')
  return gitProvider
}
