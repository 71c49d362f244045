# The checks of bin/test beside its tests. They need no images, so they run while the images are built. Run this in the
# repository, with node_modules/.bin in PATH.
set -eu

step() {
  echo "== $1"
  shift
  "$@"
}

# A run of depcruise that resolved no imports would report no violations.
imports() {
  depcruise --config .dependency-cruiser.mjs packages tests bench >.offshoot/imports.log || {
    cat .offshoot/imports.log
    exit 1
  }
  grep -Eq '\([0-9]{3,} modules' .offshoot/imports.log || {
    echo 'The import check saw fewer than 100 modules: it does not work.'
    exit 1
  }
}

# What buf writes from the protocol files, the descriptions of the contract's schemas, and the SDK's types of the API must
# be what is committed.
generated_code() {
  node bin/lib/describe-schemas.mjs | diff - packages/contract/src/descriptions.json
  rm -rf .offshoot/generated
  (cd packages/e2b && buf generate -o ../../.offshoot/generated)
  diff -r .offshoot/generated/src/generated packages/e2b/src/generated
  node bin/lib/openapi-document.mjs | node packages/sdk/generate-types.mjs .offshoot/generated/sdk
  diff -r .offshoot/generated/sdk packages/sdk/src/generated
}

step types tsc --noEmit
step 'types of the console' tsc -p packages/console
step 'types of the documentation' tsc -p packages/docs
step lint oxlint --type-aware --deny-warnings
step format oxfmt --check
step 'import direction' imports
step 'dead code' knip
step 'generated code' generated_code
step 'size of the SDK' node bin/lib/sdk-size.mjs
step 'width of prose' node bin/lib/prose-width.mjs
step 'guest, under sanitizers' make -s -C guest asan check fuzz SECONDS=10
