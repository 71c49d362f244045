import type { Seal } from '../../../platform/secrets/seal.ts'
import type { DatabasesContext } from '../../databases/databases-context.ts'
import type { Deployer } from './deployer.ts'
import type { GitCredentials } from './git-credentials.ts'
import type { DnsTexts } from './dns-texts.ts'
import type { GitProvider } from './git-provider.ts'
import type { PreviewPasses } from './preview-passes.ts'
import type { Scaler } from './scaler.ts'

export interface AppsContext extends DatabasesContext {
  /** Signs the cookies of private previews. */
  readonly previewPasses: PreviewPasses
  /** Encrypts the variables of apps. */
  readonly appSecrets: Seal
  /** Encrypts the private keys of certificates. */
  readonly certificateKeys: Seal
  /** Reads the DNS records that verify a domain. */
  readonly dnsTexts: DnsTexts
  readonly deployer: Deployer
  readonly scaler: Scaler
  /** The streams of the edges that are connected to this process. */
  readonly edgeStreams: Set<object>
  /** `null` if the operator has configured none. */
  readonly gitProvider: GitProvider | null
  readonly gitCredentials: GitCredentials
}
