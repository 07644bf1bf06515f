// A dubbo-js echo server: `node server.js 1.1|2 [--wrong]`. One JSON ready line; serves until its process is ended.
//
// `--wrong` makes an echo that every check of a client must notice: other bytes, unknown methods answered, no limit, streams
// that end at once.
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { dubboNodeAdapter } from "@apachedubbo/dubbo-node";
import { BenchmarkService } from "./echo.js";

const LIMIT = 16 * 1024 * 1024;

const right = {
  unaryCall: (request) => ({ payload: request.payload }),
  async *streamCall(requests) {
    for await (const request of requests) yield { payload: request.payload };
  },
};

/** The same length with the last byte flipped, so that a check by length alone passes; one byte for none. */
function spoiled(data) {
  if (data.length === 0) return new Uint8Array([0x21]);
  const other = data.slice();
  other[other.length - 1] ^= 1;
  return other;
}

const wrong = {
  unaryCall: (request) => ({ payload: spoiled(request.payload) }),
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
