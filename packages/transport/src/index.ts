export { decodeFrame, encodeFrame, FRAME_FORMAT } from './codec.ts';
export { type FeatureLevels, type Handshake, PEER_PROTOCOL } from './handshake.ts';
export { LoopbackHub, LoopbackNetwork } from './loopback.ts';
export { type Mesh, type MeshOptions, openMesh } from './mesh.ts';
export type * from './peer-message.ts';
