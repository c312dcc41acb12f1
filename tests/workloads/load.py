#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Load for embed_server.py: texts of log-normal length, in phases, from a fixed seed.

Each phase ends at its time or its count of requests, whichever comes first. Prints one line per
phase with latency percentiles; the exit status is 1 if a request failed.
"""
import argparse
import http.client
import json
import random
import sys
import threading
import time
from collections import namedtuple

# clients: parallel connections. rate: requests per second in all, None = as fast as answers come.
# words: median length; sigma: of its logarithm.
Phase = namedtuple("Phase", "name share clients rate words sigma")
PHASES = [
    Phase("warm-up", 0.10, 1, None, 24, 0.6),
    Phase("steady", 0.45, 4, 20, 24, 0.7),
    Phase("burst", 0.25, 16, None, 16, 0.6),
    Phase("long documents", 0.20, 3, None, 160, 0.4),
]
SEARCH_SHARE, LIST_SHARE = 0.25, 0.10
WORDS_MAX = 400
SYLLABLES = "ka lo mi ter ven sus pra do ny el bar ot in gra fe".split()


def text_of(random_source, phase):
    words = min(WORDS_MAX, max(1, round(random_source.lognormvariate(0, phase.sigma) * phase.words)))
    return " ".join("".join(random_source.choices(SYLLABLES, k=random_source.randint(1, 3)))
                    for _ in range(words))


def request_of(random_source, phase):
    kind = random_source.random()
    if kind < SEARCH_SHARE:
        return "/search", {"text": text_of(random_source, phase), "top": 5}
    texts = random_source.randint(2, 6) if kind < SEARCH_SHARE + LIST_SHARE else 1
    return "/embed", {"texts": [text_of(random_source, phase) for _ in range(texts)]}


class Run:
    """One phase: the clients share a seeded stream of requests, so the work does not depend on which
    client is faster."""

    def __init__(self, phase, seed, end, count):
        self.phase, self.end, self.left = phase, end, count
        self.random = random.Random(f"{seed} {phase.name}")
        self.next_start = time.monotonic()
        self.lock = threading.Lock()
        self.latencies, self.failures = [], []

    def take(self):
        with self.lock:
            if self.left <= 0 or time.monotonic() >= self.end:
                return None
            self.left -= 1
            start = self.next_start
            if self.phase.rate:
                self.next_start += self.random.expovariate(self.phase.rate)
            return start, request_of(self.random, self.phase)

    def client(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            taken = self.take()
            if not taken:
                return
            start, (path, content) = taken
            if self.phase.rate:
                time.sleep(max(0, start - time.monotonic()))
            begin = time.monotonic()
            try:
                connection.request("POST", path, json.dumps(content))
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    raise OSError(f"{path}: status {response.status}")
                self.latencies.append(time.monotonic() - begin)
            except OSError as error:
                self.failures.append(error)
                connection.close()
                if len(self.failures) > 10:
                    return

    def run(self, port):
        threads = [threading.Thread(target=self.client, args=(port,))
                   for _ in range(self.phase.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def report(run, seconds):
    ordered = sorted(run.latencies)
    if not ordered:
        print(f"load: {run.phase.name}: no answer; {len(run.failures)} failures", flush=True)
        return
    p50, p90, p99 = (1e3 * ordered[int(q * (len(ordered) - 1))] for q in (0.5, 0.9, 0.99))
    print(f"load: {run.phase.name:<15} {len(ordered):5d} requests in {seconds:5.1f} s, "
          f"ms p50 {p50:.0f} p90 {p90:.0f} p99 {p99:.0f} max {1e3 * ordered[-1]:.0f}"
          + (f", {len(run.failures)} failed: {run.failures[0]}" if run.failures else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=30, help="all phases together")
    parser.add_argument("--requests", type=int, default=4000, help="all phases together")
    parser.add_argument("--seed", type=int, default=20)
    options = parser.parse_args()

    failed = 0
    for phase in PHASES:
        begin = time.monotonic()
        run = Run(phase, options.seed, begin + options.seconds * phase.share,
                  max(1, round(options.requests * phase.share)))
        run.run(options.port)
        report(run, time.monotonic() - begin)
        failed += len(run.failures) + (not run.latencies)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
