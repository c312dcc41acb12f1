#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A picture of a page: shot.py PAGE.html PICTURE.png [--width W] [--height H | --whole] [--dark] [--at CSS]"""
import argparse
import sys

import chromium


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("picture")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=1560)
    parser.add_argument("--whole", action="store_true", help="however long the page is")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--at", metavar="CSS", help="scroll to the first element that matches")
    args = parser.parse_args()
    if not chromium.find():
        sys.exit("shot.py: no chromium here: apt-get install chromium")
    with chromium.Chromium() as browser:
        browser.open(args.page, args.width, args.height)
        if args.dark:
            browser.emulate(prefers_color_scheme="dark")
        if args.whole:
            browser.resize(args.width, browser.evaluate("document.documentElement.scrollHeight"))
        if args.at:
            browser.evaluate(f"document.querySelector({args.at!r}).scrollIntoView()")
        with open(args.picture, "wb") as out:
            out.write(browser.screenshot())


if __name__ == "__main__":
    main()
