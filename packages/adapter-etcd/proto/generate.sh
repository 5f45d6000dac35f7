#!/usr/bin/env bash
# Generates src/gen from proto/*.proto. Needs protoc (Debian: protobuf-compiler) and ts-proto.
# Run by `npm run generate -w @lockstep/adapter-etcd`; the result is committed.
set -euo pipefail
cd "$(dirname "$0")/.."
plugin="$(node -p "require.resolve('ts-proto/protoc-gen-ts_proto')" 2>/dev/null || echo ../../node_modules/.bin/protoc-gen-ts_proto)"
rm -rf src/gen && mkdir -p src/gen
options=(
  env=node forceLong=bigint useJsTypeOverride=true esModuleInterop=true importSuffix=.ts
  enumsAsLiterals=true outputServices=false outputJsonMethods=false outputPartialMethods=false
  outputTypeRegistry=false outputTypeAnnotations=false useExactTypes=false
  outputClientImpl=false onlyTypes=false removeEnumPrefix=false
)
joined="$(IFS=,; echo "${options[*]}")"
protoc --plugin="protoc-gen-ts_proto=$plugin" --ts_proto_out=src/gen --ts_proto_opt="$joined" \
  -I proto proto/*.proto
# Three corrections of the generated text:
# - A request may carry any int64 in a field that is a number here (limit, revision, TTL). Values
#   beyond 2^53 are only ever compared with real ones, so they are clamped instead of refused.
# - ts-proto range-checks a JS_NUMBER inside a oneof as if it were a bigint; a number cannot exceed
#   an int64, so the check goes.
# - Bytes of a request stay views on the frame they came in; what outlives the request is copied
#   once, into the command.
for file in src/gen/*.ts; do
  perl -0pi -e '
    s/function longToNumber\(.*?\n\}\n/function longToNumber(int64: bigint): number {\n  const num = Number(int64);\n  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, num));\n}\n/s;
    s/ *if \(BigInt\.asIntN\(64, message\.(version|createRevision|modRevision)\).*?\n.*?\n *\}\n//g;
    s/longToNumber\(reader\.(u?int64)\(\)\)/longToNumber(reader.$1() as bigint)/g;
    s/Buffer\.from\(reader\.bytes\(\)\)/reader.bytes() as Buffer/g;
  ' "$file"
done

node proto/schema.mjs
