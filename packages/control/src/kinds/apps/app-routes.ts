import type { FastifyInstance } from 'fastify'
import { deleteAppDomain } from './domains/delete-app-domain.ts'
import { getAppDomains } from './domains/get-app-domains.ts'
import { deleteDomainCertificate } from './certificates/delete-domain-certificate.ts'
import { edgeCertificateRoutes } from './certificates/edge-certificate-routes.ts'
import { postAppDomains } from './domains/post-app-domains.ts'
import { appLinkRoutes } from './links/app-link-routes.ts'
import { edgeAccessRoutes } from './preview-access/edge-access-routes.ts'
import { getPreviewEntry } from './preview-access/get-preview-entry.ts'
import { getPreviews } from './previews/get-previews.ts'
import type { AppsContext } from './model/apps-context.ts'
import { deleteApp } from './delete-app.ts'
import { getEdgeApp } from './get-edge-app.ts'
import { getEdgeApps } from './get-edge-apps.ts'
import { getApp } from './get-app.ts'
import { getApps } from './get-apps.ts'
import { patchApp } from './patch-app.ts'
import { postApps } from './post-apps.ts'
import { postEdgeLoad } from './post-edge-load.ts'

/** Everything under `/v1/apps`, and the internal routes of edges. */
export function appRoutes(app: FastifyInstance, control: AppsContext): void {
  for (const route of [
    postApps,
    getApps,
    getApp,
    patchApp,
    deleteApp,
    getPreviews,
    getEdgeApps,
    getEdgeApp,
    postAppDomains,
    getAppDomains,
    deleteAppDomain,
    deleteDomainCertificate,
    edgeCertificateRoutes,
    postEdgeLoad,
    appLinkRoutes,
    edgeAccessRoutes,
    getPreviewEntry,
  ])
    route(app, control)
}
