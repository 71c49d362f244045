// Generated from /openapi.json by generate-types.mjs. Do not edit.

/** Fields whose keys are data of the user, such as names of variables. */
export const OPAQUE_FIELDS: ReadonlySet<string> = /* @__PURE__ */ new Set(["chart","data","details","env","extra","failures","json","labels","meta","metadata","payload"])

/** Routes that accept an `Idempotency-Key`. */
export const KEYED_ROUTES: ReadonlySet<string> = /* @__PURE__ */ new Set(["POST /v1/me/tokens","POST /v1/orgs","POST /v1/orgs/{id}/members","POST /v1/sandboxes/{id}/template","POST /v1/volumes","POST /v1/volumes/{name}/clone","POST /v1/volumes/{name}/snapshots","POST /v1/sandboxes","POST /v1/sandboxes/{id}/fork","POST /v1/sandboxes/{id}/fork-tree","POST /v1/sandboxes/{id}/snapshots","POST /v1/databases","POST /v1/databases/{id}/branch","POST /v1/databases/{id}/restore","POST /v1/databases/{id}/backups","POST /v1/apps","POST /v1/apps/{id}/deploys","POST /v1/apps/{id}/rollback","POST /v1/webhooks","POST /v1/webhooks/{id}/rotate-secret"])
