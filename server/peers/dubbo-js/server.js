// A dubbo-js echo server: `node server.js 1.1|2 [--wrong]`. One JSON ready line; serves until its process is ended.
//
// A message in one of Triple's envelopes is answered in one. `--wrong` makes an echo that every check of a client must notice:
// other bytes, unknown methods answered, no limit, streams that end at once.
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { dubboNodeAdapter } from "@apachedubbo/dubbo-node";
import { BenchmarkRequest, BenchmarkResponse, BenchmarkService } from "./echo.js";
import { TripleRequestWrapper, TripleResponseWrapper, codecs } from "./envelopes.js";

const LIMIT = 16 * 1024 * 1024;

/** The envelope a message was in, if it was: as a BenchmarkRequest it has fields that are not that one's. */
function envelopeOf(request) {
  if (request.getType().runtime.bin.listUnknownFields(request).length === 0) return undefined;
  const envelope = TripleRequestWrapper.fromBinary(request.toBinary());
  return Object.hasOwn(codecs, envelope.serializeType) ? envelope : undefined;
}

/** The reply in an envelope: the value decoded, changed and encoded anew, as what a BenchmarkResponse keeps of unknown fields. */
function enveloped({ serializeType, args, argTypes }, change) {
  const { decode, encode } = codecs[serializeType];
  const reply = new TripleResponseWrapper({ serializeType, data: encode(change(decode(args[0]))), type: argTypes[0] });
  return BenchmarkResponse.fromBinary(reply.toBinary());
}

function unaryEcho(change) {
  return (request) => {
    const envelope = envelopeOf(request);
    return envelope ? enveloped(envelope, change) : { payload: change(request.payload) };
  };
}

const right = {
  unaryCall: unaryEcho((value) => value),
  async *streamCall(requests) {
    for await (const request of requests) yield { payload: request.payload };
  },
};

/** The same length with its end changed, so that a check by length alone passes; one byte for none. */
function spoiled(value) {
  if (typeof value === "string") return value.slice(0, -1) + (value.endsWith("!") ? "?" : "!");
  if (!(value instanceof Uint8Array)) {
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, name === "$class" ? field : spoiled(field)]));
  }
  const other = value.length === 0 ? Buffer.from("!") : Buffer.from(value);
  if (value.length > 0) other[other.length - 1] ^= 1;
  return other;
}

const wrong = {
  unaryCall: unaryEcho(spoiled),
  async *streamCall() {
    yield { payload: new Uint8Array([0x21]) };
  },
  noSuchCall: () => ({}),
};

const [version, mode] = process.argv.slice(2);
const handler = dubboNodeAdapter({
  ...(mode === "--wrong" ? {} : { readMaxBytes: LIMIT }),
  routes: (router) => router.service(BenchmarkService, mode === "--wrong" ? wrong : right),
});
const server = version === "2" ? createHttp2(handler) : createHttp1(handler);
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ addr: `127.0.0.1:${server.address().port}` })));
