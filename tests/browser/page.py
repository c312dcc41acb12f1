#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judge a report in a real browser: page.py WORK PAGE.html PART...

Prints TAP. PART is what must be on this page besides what every page has: replay, gpu, none.
Pictures of it stay in WORK.
"""
import os
import re
import struct
import sys
import zlib

import chromium

WIDTH, HEIGHT = 1280, 1560
SCALE = 0.25  # of the picture that is judged: decoded here, and slowly

# What, how many of it at least, on which pages.
ELEMENTS = (
    ("every", "#coverage dl.coverage > div", 4),
    ("every", "svg.matrix", 1),
    ("every", "svg.matrix .quadrant", 4),
    ("every", "#matrix table tr[id^=op-]", 1),
    ("every", "section.card svg.histogram, section.card figcaption b", 1),
    ("every", "#shapes table tbody tr", 1),
    ("every", "#method details table", 3),
    ("every", "svg.timeline", 1),
    ("replay", "svg.matrix .marker", 1),
    ("replay", "svg.roofline .roof", 1),
    ("replay", "svg.ratios .ratio", 1),
    ("gpu", "#time table tbody tr", 1),
)


def pixels(png):
    """Width, height and rows of bytes of an 8-bit PNG without interlacing."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, data, head = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            data += body
        at += 12 + size
    width, height, depth, colour, _, _, interlaced = head
    assert depth == 8 and colour in (2, 6) and not interlaced, head
    step, raw, rows = 3 if colour == 2 else 4, zlib.decompress(data), []
    before = bytearray(width * step)
    for y in range(height):
        line = raw[y * (width * step + 1):(y + 1) * (width * step + 1)]
        before = unfilter(line[0], bytearray(line[1:]), before, step)
        rows.append(bytes(before))
    return width, height, step, rows


def unfilter(kind, line, above, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            line[i] = line[i] + left & 255
        elif kind == 2:
            line[i] = line[i] + above[i] & 255
        elif kind == 3:
            line[i] = line[i] + (left + above[i] >> 1) & 255
        elif kind == 4:
            guess = left + above[i] - corner
            near = min((abs(guess - v), n) for n, v in enumerate((left, above[i], corner)))[1]
            line[i] = line[i] + (left, above[i], corner)[near] & 255
    return line


def fault_of(png):
    """Of this size, and something in each eighth of its height that is not background; else why not."""
    width, height, step, rows = pixels(png)
    if (width, height) != (WIDTH * SCALE, HEIGHT * SCALE):
        return f"it is {width} x {height}"
    for part in range(8):
        some = b"".join(rows[part * height // 8:(part + 1) * height // 8])
        colours = {}
        for i in range(0, len(some), step):
            colour = some[i:i + 3]
            colours[colour] = colours.get(colour, 0) + 1
        most = max(colours.values()) / sum(colours.values())
        if len(colours) < 16 or not 0.2 < most < 0.999:
            return f"part {part + 1} of 8: {len(colours)} colours, {100 * most:.1f} % of one"
    return ""


def overlaps(browser):
    """Labels of the matrix that lie on one another."""
    return browser.evaluate("""(() => {
        const boxes = [...document.querySelectorAll("svg.matrix .marker text")].map(
            text => [text.textContent, text.getBoundingClientRect()]);
        const found = [];
        for (let i = 0; i < boxes.length; i++)
            for (let k = 0; k < i; k++) {
                const [a, b] = [boxes[i][1], boxes[k][1]];
                if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
                    found.push(boxes[i][0] + " on " + boxes[k][0]);
            }
        return found.join("; ");
    })()""")


def tab_through(browser, most=80):
    """What the Tab key reaches, in order, as CSS-like words; and what of it has no outline then."""
    reached, unseen = [], []
    for _ in range(most):
        browser.press("Tab")
        name, outline = browser.evaluate("""(() => {
            const e = document.activeElement;
            return [e.tagName.toLowerCase() + "." + (e.getAttribute("class") || "")
                    + " " + (e.getAttribute("href") || ""), getComputedStyle(e).outlineStyle];
        })()""")
        if name.startswith("body"):
            break  # once round
        reached.append(name)
        if outline == "none":
            unseen.append(name)
    return reached, unseen


class Judge:
    def __init__(self):
        self.count = 0

    def say(self, what, why=""):
        self.count += 1
        print(f"{'not ' if why else ''}ok {self.count} - {what}", flush=True)
        if why:
            print(f"# {why}")


def judge_page(judge, browser, work, page, parts):
    name = os.path.splitext(os.path.basename(page))[0]
    browser.open(page, WIDTH, HEIGHT)
    requests, said = browser.requests(), browser.complaints()
    judge.say(f"{name}: the browser asks for the page and for nothing else",
              "" if len(requests) == 1 and requests[0].startswith("file:") else f"asked for {requests}")
    judge.say(f"{name}: nothing on the console", "; ".join(said))
    for of, css, least in ELEMENTS:
        if of == "every" or of in parts:
            found = browser.evaluate(f"document.querySelectorAll({css!r}).length")
            judge.say(f"{name}: has {css}", "" if found >= least else f"found {found}, not {least}")
    with open(os.path.join(work, name + ".png"), "wb") as out:
        out.write(browser.screenshot())
    judge.say(f"{name}: a picture of {WIDTH} x {HEIGHT} shows something everywhere",
              fault_of(browser.screenshot(SCALE)))
    wide = browser.evaluate("document.documentElement.scrollWidth")
    judge.say(f"{name}: no wider than the window", "" if wide <= WIDTH else f"{wide} pixels")
    judge.say(f"{name}: no label of the matrix lies on another", overlaps(browser))
    reached, unseen = tab_through(browser)
    judge.say(f"{name}: Tab reaches the skip link first, then the parts of the page",
              "" if reached[:1] == ["a.skip #verdicts"] and "a. #method" in reached else f"{reached[:12]}")
    judge.say(f"{name}: Tab reaches the tables", "" if "div.scroll " in reached else f"{reached}")
    judge.say(f"{name}: what is in focus can be seen", f"no outline: {unseen}" if unseen else "")
    colours = {}
    for scheme in "light", "dark":
        browser.emulate(prefers_color_scheme=scheme)
        colours[scheme] = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    judge.say(f"{name}: light and dark", "" if colours["light"] != colours["dark"] else f"{colours}")
    browser.emulate(prefers_color_scheme="light")
    pdf = browser.pdf()
    sheets = len(re.findall(rb"/Type\s*/Page\b", pdf))
    judge.say(f"{name}: prints to PDF", "" if pdf[:5] == b"%PDF-" and sheets >= 2 else f"{sheets} sheets")


def main():
    work, page, *parts = sys.argv[1:]
    judge = Judge()
    with chromium.Chromium() as browser:
        judge_page(judge, browser, work, page, parts)
    print(f"1..{judge.count}")


if __name__ == "__main__":
    main()
