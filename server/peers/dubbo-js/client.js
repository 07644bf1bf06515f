// dubbo-js, as its users call it, against one of our servers: `node client.js triple|triple-gzip|grpc|grpc-gzip HOST:PORT [1.1|2]`.
//
// Against a Triple server it speaks Triple's own unary mode over HTTP/1.1 and HTTP/2, with protobuf and JSON bodies, and
// gRPC mode; against a gRPC server gRPC mode alone; with an HTTP version only what goes over that one. One JSON line a check,
// as pychecks.py has it.
import { Code, DubboError, createPromiseClient } from "@apachedubbo/dubbo";
import { compressionGzip, createDubboTransport, createGrpcTransport } from "@apachedubbo/dubbo-node";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { BenchmarkService } from "./echo.js";
import { EnvelopeService, codecs, enclose } from "./envelopes.js";

const KIB = 1024;
const MIB = 1024 * KIB;
const SIZES = { "0 B": 0, "1 B": 1, "128 B": 128, "16 KiB": 16 * KIB, "1 MiB": MIB };
const OVERSIZE = 17 * MIB; // the servers' limit is 16 MiB
const CHECK_MS = 60_000;

let count = 0;

async function check(name, body) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took longer than ${CHECK_MS} ms`)), CHECK_MS);
  });
  let detail = "";
  try {
    await Promise.race([body(), limit]);
  } catch (error) {
    detail = String(error).slice(0, 600) || "failed";
  }
  clearTimeout(timer);
  count += 1;
  console.log(JSON.stringify({ check: name, ok: detail === "", detail }));
}

/** Bytes that no off-by-one, truncation or mix-up of two calls leaves unchanged. */
function payload(size, seed = 0) {
  return new Uint8Array(createHash("shake128", { outputLength: Math.max(size, 1) }).update(`${size}/${seed}`).digest()).slice(0, size);
}

function expectEcho(sent, got) {
  if (Buffer.compare(sent, got) !== 0) {
    throw new Error(`sent ${sent.length} bytes, got ${got.length}, begins ${Buffer.from(got.slice(0, 16)).toString("hex")}`);
  }
}

async function expectCode(code, body) {
  try {
    await body();
  } catch (error) {
    if (error instanceof DubboError && error.code === code) return;
    throw new Error(`expected ${Code[code]}, got ${error instanceof DubboError ? Code[error.code] : ""} ${error}`);
  }
  throw new Error(`expected ${Code[code]}, the call succeeded`);
}

/** Of a Triple error in dubbo-go's form, which has the code by name, this client keeps the HTTP status alone. */
async function expectOversize(client) {
  try {
    await unary(client, OVERSIZE);
  } catch (error) {
    const expected = tonic ? Code.OutOfRange : Code.ResourceExhausted;
    if (error instanceof DubboError && (error.code === expected || error.rawMessage === "HTTP 429")) return;
    throw new Error(`expected ${Code[expected]}, got ${error}`);
  }
  throw new Error("the call succeeded");
}

async function unary(client, size, seed = 0) {
  const sent = payload(size, seed);
  expectEcho(sent, (await client.unaryCall({ payload: sent })).payload);
}

async function streamWriteAllFirst(client, sizes) {
  const sent = sizes.map((size, i) => payload(size, i));
  async function* requests() {
    for (const data of sent) yield { payload: data };
  }
  let received = 0;
  for await (const reply of client.streamCall(requests())) expectEcho(sent[received++] ?? new Uint8Array(), reply.payload);
  if (received !== sent.length) throw new Error(`sent ${sent.length} messages, got ${received}`);
}

/** Each message goes only when the echo of the one before has come: a server that collects a stream hangs. */
async function streamInTurn(client, sizes) {
  const arrive = [];
  const echoes = sizes.map((_, i) => new Promise((resolve) => (arrive[i] = resolve)));
  async function* requests() {
    for (let i = 0; i < sizes.length; i++) {
      if (i > 0) await echoes[i - 1];
      yield { payload: payload(sizes[i], i) };
    }
  }
  let received = 0;
  for await (const reply of client.streamCall(requests())) {
    expectEcho(payload(sizes[received], received), reply.payload);
    arrive[received++]();
  }
  if (received !== sizes.length) throw new Error(`sent ${sizes.length} messages, got ${received}`);
}

/** The header alone, so that the server and not the client's own timer must end the call. */
async function deadlineOfAnIdleStream(client) {
  async function* idle() {
    await new Promise(() => {});
  }
  await expectCode(Code.DeadlineExceeded, async () => {
    for await (const _ of client.streamCall(idle(), { headers: { "grpc-timeout": "300m" } }));
  });
}

/** dubbo-js offers gzip on every call. */
async function replyEncoding(client, header) {
  let encoding;
  const sent = payload(16 * KIB);
  const reply = await client.unaryCall({ payload: sent }, { onHeader: (headers) => (encoding = headers.get(header)) });
  expectEcho(sent, reply.payload);
  if ((encoding === "gzip") !== gzips) throw new Error(`${header}: ${encoding}`);
}

/** [name, Java type, value]: what an envelope must carry there and back unchanged. */
function* envelopeCases(serializeType) {
  for (const size of [0, 1, 15, 16, 128, 1023, 1024, 8189, 8190, 64 * KIB, MIB]) yield [`${size} bytes`, "[B", Buffer.from(payload(size))];
  const strings = { empty: "", ASCII: "bob", "beyond ASCII": "Grüße 中文 😀", long: "a😀é中".repeat(10_000) };
  // Where dubbo-go (4,096) and dubbo-java (32,768) cut a string: one half of a pair on either side.
  for (const at of [31, 1023, 4095, 32_767]) strings[`a pair at ${at}`] = `${"a".repeat(at)}😀${"b".repeat(at)}`;
  for (const [name, text] of Object.entries(strings)) yield [`a string, ${name}`, "java.lang.String", text];
  for (const size of [128, 64 * KIB]) yield [`a map with ${size} B`, "java.util.Map", { payload: Buffer.from(payload(size)) }];
  if (serializeType === "msgpack") return;
  const $class = "benchmark.BenchmarkRequest";
  yield ["an object", $class, { $class, $: { payload: Buffer.from(payload(8190)) } }];
}

/** A value as it is compared: an object is its fields, whatever its class. */
function plain(value) {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries("$class" in value ? value.$ : value).map(([name, field]) => [name, plain(field)]));
}

async function envelopeEcho(client, serializeType, argType, value) {
  const reply = await client.unaryCall(enclose(serializeType, value, argType));
  const { serializeType: said, type } = reply;
  if (said !== serializeType || type !== argType) throw new Error(`sent ${serializeType} ${argType}, got ${said} ${type}`);
  const got = codecs[serializeType].decode(reply.data);
  if (value instanceof Uint8Array) expectEcho(value, got);
  else if (!isDeepStrictEqual(plain(got), plain(value))) throw new Error(`got ${JSON.stringify(got).slice(0, 200)}`);
}

async function envelopeChecks(label, make) {
  const client = make({});
  for (const serializeType of ["hessian2", "msgpack"]) {
    const inEnvelope = `${label}: ${serializeType} in an envelope`;
    for (const [name, argType, value] of envelopeCases(serializeType)) {
      await check(`${inEnvelope}: ${name}`, () => envelopeEcho(client, serializeType, argType, value));
    }
    const zipping = make({ sendCompression: compressionGzip, compressMinBytes: 1 });
    const bytes = (size, seed) => Buffer.from(payload(size, seed));
    await check(`${inEnvelope}, request gzipped`, () => envelopeEcho(zipping, serializeType, "[B", bytes(16 * KIB)));
    const call = (_, i) => envelopeEcho(client, serializeType, "[B", bytes(1 + 37 * i, i));
    await check(`${inEnvelope}: 100 at once`, () => Promise.all(Array.from({ length: 100 }, call)));
  }
  await check(`${label}: hessian4, as dubbo-java writes it`, () => envelopeEcho(client, "hessian4", "java.lang.String", "bob"));
}

async function unaryChecks(label, make, encodingHeader) {
  const client = make({});
  for (const [name, size] of Object.entries(SIZES)) await check(`${label}: unary ${name}`, () => unary(client, size));
  const zipping = make({ sendCompression: compressionGzip, compressMinBytes: 1 });
  if (takesGzip) await check(`${label}: request gzipped`, () => unary(zipping, 16 * KIB));
  else await check(`${label}: request gzipped is refused`, () => expectCode(Code.Unimplemented, () => unary(zipping, 128)));
  await check(`${label}: reply ${gzips ? "gzipped" : "plain"}, gzip offered`, () => replyEncoding(client, encodingHeader));
  await check(`${label}: no compression offered`, () => unary(make({ acceptCompression: [] }), 16 * KIB));
  await check(`${label}: 100 calls at once`, () => Promise.all(Array.from({ length: 100 }, (_, i) => unary(client, 1 + 37 * i, i))));
  await check(`${label}: unknown method`, () => expectCode(Code.Unimplemented, () => client.noSuchCall({})));
  await check(`${label}: oversize`, () => expectOversize(client));
  await check(`${label}: unary after the refusals`, () => unary(client, 16 * KIB));
}

async function streamChecks(label, make) {
  const client = make({});
  const sizes = Object.values(SIZES);
  await check(`${label}: stream, all written first`, () => streamWriteAllFirst(client, sizes));
  await check(`${label}: stream, in turn`, () => streamInTurn(client, [...sizes, ...sizes]));
  if (takesGzip) {
    const zipping = make({ sendCompression: compressionGzip, compressMinBytes: 1 });
    await check(`${label}: stream gzipped`, () => streamWriteAllFirst(zipping, [0, 128, MIB]));
  }
  if (tonic) return;
  await check(`${label}: deadline of an idle stream`, () => deadlineOfAnIdleStream(client));
}

const [server, addr, only] = process.argv.slice(2);
const gzips = server.endsWith("-gzip");
// tonic as it comes: OUT_OF_RANGE for oversize, a deadline only until a reply begins, no gzip unless it is switched on.
const tonic = server.startsWith("grpc");
const takesGzip = server !== "grpc";
// Node resets streams of a session that holds more than 10 MB, which an oversize request does.
const nodeOptions = { maxSessionMemory: 64 };
const transport = (create, fixed, service = BenchmarkService) => (options) =>
  createPromiseClient(service, create({ baseUrl: `http://${addr}`, nodeOptions, ...fixed, ...options }));

async function grpcChecks(label, useBinaryFormat) {
  const make = transport(createGrpcTransport, { httpVersion: "2", useBinaryFormat });
  await unaryChecks(label, make, "grpc-encoding");
  await streamChecks(label, make);
}

async function tripleChecks(httpVersion) {
  await envelopeChecks(`HTTP/${httpVersion}`, transport(createDubboTransport, { httpVersion }, EnvelopeService));
  for (const [body, useBinaryFormat] of [["proto", true], ["JSON", false]]) {
    const make = transport(createDubboTransport, { httpVersion, useBinaryFormat });
    await unaryChecks(`HTTP/${httpVersion} ${body}`, make, "content-encoding");
  }
}

async function connectIsRefused() {
  // Its own streaming, application/connect+proto, is none of Triple's: 415, as dubbo-go answers, and INTERNAL to this client.
  const connect = transport(createDubboTransport, { httpVersion: "2" })({});
  await check("HTTP/2: a stream as connect+proto is refused", () =>
    expectCode(Code.Internal, () => streamWriteAllFirst(connect, [128])));
}

if (only !== "2" && !tonic) await tripleChecks("1.1");
if (only !== "1.1") {
  await grpcChecks("gRPC proto", true);
  if (!tonic) {
    await envelopeChecks("gRPC", transport(createGrpcTransport, { httpVersion: "2" }, EnvelopeService));
    await grpcChecks("gRPC JSON", false);
    await tripleChecks("2");
    await connectIsRefused();
  }
}
console.log(JSON.stringify({ done: count }));
process.exit(0); // idle sessions would keep it
