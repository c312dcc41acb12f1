#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small text-embedding server: a real inference workload without a GPU or a download.

A transformer encoder (6 layers, width 384, 12 heads, feed-forward 1536) in float32, and behind it a
projection head, a search index and a drift monitor in float64, as one often finds them. Requests are
batched dynamically. Weights, vocabulary and index come from a fixed seed, so two runs do the same
work for the same requests.

  POST /embed   {"texts": ["...", ...]}      -> {"embeddings": [[...], ...]}
  POST /search  {"text": "...", "top": 5}    -> {"hits": [[document, score], ...]}
  GET  /healthz, GET /stats
"""
import argparse
import json
import queue
import signal
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

try:
    from scipy.linalg.blas import daxpy, saxpy
except ImportError:  # numpy alone is enough
    daxpy = saxpy = None

WIDTH, LAYERS, HEADS, FEED_FORWARD = 384, 6, 12, 1536
HEAD_WIDTH = WIDTH // HEADS
VOCABULARY, LONGEST = 8192, 512
PROJECTED, DOCUMENTS = 128, 4096
CALIBRATE_EVERY = 32  # embeddings between two looks at the drift
BODY_BYTES_MAX = 1 << 20
TEXTS_MAX = 64


class BadRequest(Exception):
    pass


def tokens_of(text):
    """Words, longer ones in pieces of six letters, hashed into the vocabulary."""
    pieces = [word[i:i + 6] for word in text.lower().split() for i in range(0, len(word), 6)]
    ids = [2 + zlib.crc32(piece.encode()) % (VOCABULARY - 2) for piece in pieces[:LONGEST - 1]]
    return np.array([1] + ids, dtype=np.int64)


def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    return centred / deviation * gain + bias


def gelu(x):
    return np.float32(0.5) * x * (1 + np.tanh(np.float32(0.7978846) * (x + np.float32(0.044715) * x * x * x)))


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


class Encoder:
    def __init__(self, seed, pad_to):
        rng = np.random.default_rng(seed)
        self.pad_to = pad_to

        def weights(rows, columns):
            return (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)

        self.embedding = weights(VOCABULARY, WIDTH)
        self.position = weights(LONGEST, WIDTH)
        self.layers = [{
            "qkv": weights(WIDTH, 3 * WIDTH), "out": weights(WIDTH, WIDTH),
            "up": weights(WIDTH, FEED_FORWARD), "down": weights(FEED_FORWARD, WIDTH),
            "gain": np.ones((2, WIDTH), np.float32), "bias": np.zeros((2, WIDTH), np.float32),
        } for _ in range(LAYERS)]
        self.pool = weights(WIDTH, 1)[:, 0]

    def attention(self, x, layer, mask):
        batch, length, _ = x.shape
        qkv = (x.reshape(-1, WIDTH) @ layer["qkv"]).reshape(batch, length, 3, HEADS, HEAD_WIDTH)
        q, k, v = np.ascontiguousarray(qkv.transpose(2, 0, 3, 1, 4))
        scores = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(HEAD_WIDTH)) + mask
        mixed = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
        return (mixed @ layer["out"]).reshape(x.shape)

    def encode(self, sequences):
        """One padded batch: list of token arrays to a [batch, WIDTH] matrix."""
        longest = max(len(s) for s in sequences)
        length = min(LONGEST, -(-longest // self.pad_to) * self.pad_to)
        ids = np.zeros((len(sequences), length), np.int64)
        mask = np.full((len(sequences), 1, 1, length), np.float32(-1e9))
        for i, sequence in enumerate(sequences):
            ids[i, :len(sequence)] = sequence
            mask[i, ..., :len(sequence)] = 0
        x = self.embedding[ids] + self.position[:length]
        for layer in self.layers:
            gain, bias = layer["gain"], layer["bias"]
            x = x + self.attention(layer_norm(x, gain[0], bias[0]), layer, mask)
            flat = layer_norm(x, gain[1], bias[1]).reshape(-1, WIDTH)
            x = x + (gelu(flat @ layer["up"]) @ layer["down"]).reshape(x.shape)
        return np.stack([self.pooled(row[:len(s)]) for row, s in zip(x, sequences)])

    def pooled(self, tokens):
        """Attention pooling: two matrix-vector products."""
        vector = softmax(tokens @ self.pool) @ tokens
        return vector / (np.linalg.norm(vector) + np.float32(1e-12))


class Head:
    """What stands behind the encoder, in double: projection, search index, drift monitor."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed + 1)
        self.projection = rng.standard_normal((WIDTH, PROJECTED)) / np.sqrt(WIDTH)
        index = rng.standard_normal((DOCUMENTS, PROJECTED))
        self.index = index / np.linalg.norm(index, axis=1, keepdims=True)
        self.centroid32 = np.zeros(WIDTH, np.float32)
        self.centroid = np.zeros(PROJECTED)
        self.recent, self.spread = [], np.zeros((PROJECTED, PROJECTED))

    def project(self, embeddings):
        projected = embeddings.astype(np.float64) @ self.projection
        for single, double in zip(embeddings, projected):
            self.follow(single, double)
        return projected

    def follow(self, single, double):
        if daxpy:
            self.centroid32 = saxpy(single - self.centroid32, self.centroid32, a=0.01)
            self.centroid = daxpy(double - self.centroid, self.centroid, a=0.01)
        self.recent.append(double)
        if len(self.recent) >= CALIBRATE_EVERY:
            rows = np.array(self.recent) - self.centroid
            self.spread += 0.05 * (rows.T @ rows / len(rows) - self.spread)
            self.recent.clear()

    def search(self, projected, top):
        scores = self.index @ projected
        best = np.argpartition(-scores, top)[:top]
        return [[int(i), float(scores[i])] for i in best[np.argsort(-scores[best])]]


class Job:
    def __init__(self, text):
        self.tokens, self.done = tokens_of(text), threading.Event()
        self.embedding = self.projected = self.error = None


class Batcher(threading.Thread):
    """Collects up to `largest` requests within `wait_s` of the first one, and computes them."""

    def __init__(self, model, head, largest, wait_s):
        super().__init__(name="batcher")
        self.model, self.head, self.largest, self.wait_s = model, head, largest, wait_s
        self.jobs = queue.Queue()
        self.texts = self.batches = self.tokens = 0

    def collect(self):
        jobs = [self.jobs.get()]
        deadline = time.monotonic() + self.wait_s
        while jobs[-1] and len(jobs) < self.largest:
            try:
                jobs.append(self.jobs.get(timeout=max(0, deadline - time.monotonic())))
            except queue.Empty:
                break
        return jobs

    def compute(self, jobs):
        embeddings = self.model.encode([job.tokens for job in jobs])
        projected = self.head.project(embeddings)
        for job, single, double in zip(jobs, embeddings, projected):
            job.embedding, job.projected = single, double
        self.texts += len(jobs)
        self.batches += 1
        self.tokens += sum(len(job.tokens) for job in jobs)

    def run(self):
        ending = False
        while not ending:
            jobs = self.collect()
            ending = jobs[-1] is None
            jobs = [job for job in jobs if job]
            try:
                if jobs:
                    self.compute(jobs)
            except Exception as error:  # one bad batch must not end the server
                for job in jobs:
                    job.error = error
            for job in jobs:
                job.done.set()

    def submit(self, texts):
        jobs = [Job(text) for text in texts]
        for job in jobs:
            self.jobs.put(job)
        for job in jobs:
            if not job.done.wait(60):
                raise TimeoutError("no answer from the batcher within 60 s")
            if job.error:
                raise job.error
        return jobs


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    batcher = None
    requests = 0
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        try:
            size = int(self.headers.get("Content-Length", ""))
            if not 0 < size <= BODY_BYTES_MAX:
                raise ValueError
            content = json.loads(self.rfile.read(size))
            if not isinstance(content, dict):
                raise ValueError
            return content
        except ValueError:
            self.close_connection = True
            raise BadRequest("the body must be a JSON object of at most 1 MiB") from None

    def embed(self, content):
        texts = content.get("texts")
        if not isinstance(texts, list) or not 0 < len(texts) <= TEXTS_MAX \
                or not all(isinstance(text, str) for text in texts):
            raise BadRequest(f"'texts' must be a list of 1 to {TEXTS_MAX} strings")
        jobs = self.batcher.submit(texts)
        return {"embeddings": [[round(float(v), 6) for v in job.embedding] for job in jobs]}

    def search(self, content):
        text, top = content.get("text"), content.get("top", 5)
        if not isinstance(text, str) or not isinstance(top, int) or not 0 < top <= 100:
            raise BadRequest("'text' must be a string and 'top' from 1 to 100")
        job, = self.batcher.submit([text])
        return {"hits": self.batcher.head.search(job.projected, top)}

    def do_POST(self):
        route = {"/embed": self.embed, "/search": self.search}.get(self.path)
        try:
            content = self.body()
            if not route:
                return self.answer(404, {"error": "there are /embed, /search, /healthz, /stats"})
            result = route(content)
        except BadRequest as error:
            return self.answer(400, {"error": str(error)})
        except Exception as error:
            return self.answer(500, {"error": f"{type(error).__name__}: {error}"})
        with self.lock:
            Handler.requests += 1
        return self.answer(200, result)

    def do_GET(self):
        batcher = self.batcher
        if self.path == "/healthz":
            return self.answer(200, {"status": "ok"})
        if self.path == "/stats":
            return self.answer(200, {"requests": Handler.requests, "texts": batcher.texts,
                                     "batches": batcher.batches, "tokens": batcher.tokens,
                                     "waiting": batcher.jobs.qsize()})
        return self.answer(404, {"error": "there are /embed, /search, /healthz, /stats"})


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0: let the system choose")
    parser.add_argument("--port-file", help="write the port here when ready")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16, help="most texts in one batch")
    parser.add_argument("--pad-to", type=int, default=16, help="round lengths up to a multiple")
    parser.add_argument("--wait-ms", type=float, default=4.0, help="wait for more texts")
    options = parser.parse_args()

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    encoder = Encoder(options.seed, options.pad_to)
    batcher = Batcher(encoder, Head(options.seed), options.batch, options.wait_ms / 1e3)
    batcher.start()
    Handler.batcher = batcher
    server = Server(("127.0.0.1", options.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    print(f"embed_server: ready on 127.0.0.1:{port}", flush=True)
    if options.port_file:
        with open(options.port_file, "w") as out:
            out.write(f"{port}\n")

    stop.wait()
    server.shutdown()
    batcher.jobs.put(None)  # what was accepted before this is still answered
    batcher.join(60)
    print(f"embed_server: {Handler.requests} requests in {batcher.batches} batches", flush=True)
    return 1 if batcher.is_alive() else 0


if __name__ == "__main__":
    sys.exit(main())
